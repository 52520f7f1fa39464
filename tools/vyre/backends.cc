// `vyre backends`: what there is to run programs on.
#include "tools/vyre/command.h"
#include "vyre/backends/backend.h"
#include "vyre/base/text.h"

namespace vyre {

Result<int> run_backends(const Invocation& invocation, const Console& console) {
  std::string table = "  backend  also    runs  on\n";
  JsonList list;
  for (const Backend& backend : all_backends()) {
    const Opened opened = backend.open(0);
    const bool runs = opened.device != nullptr;
    const std::string device = runs ? opened.device->info().name : "";
    table += (&backend == &default_backend() ? "* " : "  ") + padded(backend.name, 9) +
             padded(backend.alias, 8) + (runs ? "yes   " + device : "no    " + opened.reason) +
             "\n";
    JsonList devices;
    if (runs) devices.add(device);
    for (std::uint32_t i = 1; runs && i < opened.devices; ++i) {
      const Opened other = backend.open(i);
      const std::string& name = other.device ? other.device->info().name : other.reason;
      table += std::string(25, ' ') + "--device " + std::to_string(i) + ": " + name + "\n";
      devices.add(name);
    }
    list.add(JsonObject()
                 .add("name", backend.name)
                 .add("available", runs)
                 .add("device", runs ? Json(device) : Json::null())
                 .add("devices", devices)
                 .add("reason", runs ? Json::null() : Json(opened.reason)));
  }
  console.print(invocation.json() ? JsonObject().add("backends", list).line()
                                  : table + "\n* runs programs unless --backend names another\n");
  return kFine;
}

}  // namespace vyre
