#include "vyre/runtime/convention.h"

#include <algorithm>

namespace vyre {

std::string name_of(const Convention& convention) {
  return "V" + std::to_string(convention.version.index() + 1);
}

std::vector<Diagnostic> check_convention(const Program& program, const Convention& convention) {
  constexpr std::string_view kShape =
      "bind one or more read buffers, then one read_write, then at most one uniform";
  const std::string version = name_of(convention);
  std::vector<Diagnostic> wrong;
  std::vector<const BufferDecl*> buffers;
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access != BufferAccess::Workgroup) buffers.push_back(&buffer);
  }
  std::ranges::sort(buffers, {}, &BufferDecl::binding);

  if (const auto* v2 = std::get_if<Convention::V2>(&convention.version)) {
    const auto table = std::ranges::find(buffers, v2->lookup_binding, &BufferDecl::binding);
    const std::string binding = std::to_string(v2->lookup_binding);
    if (table == buffers.end()) {
      wrong.push_back(diagnose<message::convention_missing>(
          program.name, version, "lookup table at binding " + binding,
          "declare it: `read table: u32[] @" + binding + "`"));
    } else {
      if ((*table)->access != BufferAccess::ReadOnly) {
        wrong.push_back(diagnose<message::convention_buffer>(
            (*table)->name, version, "the lookup table is not a read buffer", "declare it `read`"));
      }
      buffers.erase(table);
    }
  }

  std::size_t inputs = 0, outputs = 0, parameters = 0;
  for (const BufferDecl* buffer : buffers) {
    const auto unfit = [&](std::string_view why) {
      wrong.push_back(diagnose<message::convention_buffer>(buffer->name, version, why, kShape));
    };
    switch (buffer->access) {
      case BufferAccess::ReadOnly:
        if (outputs + parameters > 0) unfit("an input comes after the output or the parameters");
        ++inputs;
        break;
      case BufferAccess::ReadWrite:
        if (outputs > 0) unfit("there is a second output");
        if (parameters > 0) unfit("the output comes after the parameters");
        ++outputs;
        break;
      case BufferAccess::Uniform:
        if (parameters > 0) unfit("there is a second uniform buffer");
        ++parameters;
        break;
      case BufferAccess::Workgroup:
      case BufferAccess::Private:
      case BufferAccess::Constant: break;
    }
  }
  if (inputs == 0) {
    wrong.push_back(diagnose<message::convention_missing>(program.name, version, "input", kShape));
  }
  if (outputs == 0) {
    wrong.push_back(diagnose<message::convention_missing>(program.name, version, "output", kShape));
  }
  return wrong;
}

}  // namespace vyre
