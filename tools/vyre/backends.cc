// `vyre backends`: what there is to run programs on.
#include "tools/vyre/command.h"
#include "vyre/backends/backend.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

std::string amount(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 10'240 || (bytes >= 1024 && bytes % 1024 == 0); bytes /= 1024) ++unit;
  return std::to_string(bytes) + " " + std::string(kUnits[unit]);
}

std::string limits_text(const DeviceInfo& info) {
  const auto& size = info.max_workgroup_size;
  return "workgroups of " + std::to_string(info.max_invocations) + " invocations (" +
         std::to_string(size[0]) + "," + std::to_string(size[1]) + "," + std::to_string(size[2]) +
         ") with " + amount(info.max_workgroup_bytes) + ", buffers of " +
         amount(info.max_buffer_bytes);
}

Json limits_json(const DeviceInfo& info) {
  JsonList size;
  for (const std::uint32_t axis : info.max_workgroup_size) size.add(axis);
  return JsonObject()
      .add("invocations", info.max_invocations)
      .add("workgroup_size", size)
      .add("workgroup_bytes", info.max_workgroup_bytes)
      .add("buffer_bytes", info.max_buffer_bytes);
}

}  // namespace

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
    JsonList limits;
    const std::string margin(25, ' ');
    const auto add = [&](const DeviceInfo& info) {
      table += margin + limits_text(info) + "\n";
      devices.add(info.name);
      limits.add(limits_json(info));
    };
    if (runs) add(opened.device->info());
    for (std::uint32_t i = 1; runs && i < opened.devices; ++i) {
      const Opened other = backend.open(i);
      const std::string& name = other.device ? other.device->info().name : other.reason;
      table += margin + "--device " + std::to_string(i) + ": " + name + "\n";
      if (other.device) {
        add(other.device->info());
      } else {
        devices.add(name);
        limits.add(Json::null());
      }
    }
    list.add(JsonObject()
                 .add("name", backend.name)
                 .add("available", runs)
                 .add("device", runs ? Json(device) : Json::null())
                 .add("devices", devices)
                 .add("limits", limits)
                 .add("reason", runs ? Json::null() : Json(opened.reason)));
  }
  console.print(invocation.json() ? JsonObject().add("backends", list).line()
                                  : table + "\n* runs programs unless --backend names another\n");
  return kFine;
}

}  // namespace vyre
