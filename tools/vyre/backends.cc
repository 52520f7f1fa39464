// `vyre backends`: what there is to run programs on.
#include "tools/vyre/command.h"
#include "vyre/backends/backend.h"
#include "vyre/base/text.h"

namespace vyre {

int run_backends(const Invocation& invocation, const Console& console) {
  std::string table = "  backend  also    runs  on\n";
  std::string list;
  for (const Backend& backend : all_backends()) {
    const Opened opened = backend.open(0);
    const bool runs = opened.device != nullptr;
    const std::string device = runs ? opened.device->info().name : "";
    table += (&backend == &default_backend() ? "* " : "  ") + std::string(backend.name) +
             std::string(9 - backend.name.size(), ' ') + std::string(backend.alias) +
             std::string(8 - backend.alias.size(), ' ') + (runs ? "yes   " : "no    ") +
             (runs ? device : opened.reason) + "\n";
    std::string devices = runs ? json_quote(device) : "";
    for (std::uint32_t i = 1; runs && i < opened.devices; ++i) {
      const Opened other = backend.open(i);
      const std::string& name = other.device ? other.device->info().name : other.reason;
      table += std::string(25, ' ') + "--device " + std::to_string(i) + ": " + name + "\n";
      devices += "," + json_quote(name);
    }
    list += std::string(list.empty() ? "" : ",") + "{\"name\":" + json_quote(backend.name) +
            ",\"available\":" + (runs ? "true" : "false") +
            ",\"device\":" + (runs ? json_quote(device) : "null") + ",\"devices\":[" + devices +
            "]" + ",\"reason\":" + (runs ? "null" : json_quote(opened.reason)) + "}";
  }
  console.print(invocation.json() ? "{\"backends\":[" + list + "]}\n"
                                  : table + "\n* runs programs unless --backend names another\n");
  return kFine;
}

}  // namespace vyre
