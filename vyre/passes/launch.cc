#include "vyre/passes/launch.h"

#include <algorithm>

namespace vyre {

LaunchShape plain_launch(const Program& program) {
  LaunchShape launch;
  launch.size = program.workgroup_size;
  return launch;
}

std::vector<std::uint32_t> LaunchShape::words(
    const std::array<std::uint64_t, 3>& dispatched) const {
  std::vector<std::uint32_t> all;
  for (const Limit& limit : limits) {
    // Ids fit in 32 bits: a grid with more is not dispatched.
    const std::uint64_t count =
        std::max<std::uint64_t>(dispatched[limit.axis], 1) * size[limit.axis];
    const std::uint64_t below = std::max<std::uint64_t>(limit.distance, 1);
    all.push_back(static_cast<std::uint32_t>(count < below ? 0 : count - below));
  }
  return all;
}

std::uint64_t workgroup_bytes(const Program& program) {
  std::uint64_t bytes = 0;
  for (const BufferDecl& buffer : program.buffers) {
    if (buffer.access != BufferAccess::Workgroup) continue;
    bytes += std::uint64_t{buffer.count} * stride(buffer.element);
  }
  return bytes;
}

BufferId add_buffer(Program& program, BufferDecl buffer) {
  const std::string name = buffer.name;
  const auto is_taken = [&] {
    return std::ranges::find(program.buffers, buffer.name, &BufferDecl::name) !=
           program.buffers.end();
  };
  for (std::uint32_t number = 2; is_taken(); ++number) {
    buffer.name = name + "_" + std::to_string(number);
  }
  if (buffer.access != BufferAccess::Workgroup) {
    for (const BufferDecl& other : program.buffers) {
      buffer.binding = std::max(buffer.binding, other.binding + 1);
    }
  }
  program.buffers.push_back(std::move(buffer));
  return BufferId{program.buffers.size() - 1};
}

std::uint32_t add_limit(Shaped& shaped, const LaunchShape::Limit& limit) {
  LaunchShape& launch = shaped.launch;
  if (!launch.uniform.exists()) {
    launch.uniform =
        add_buffer(shaped.program, {"launch", 0, BufferAccess::Uniform, DataType::U32, 0});
  }
  launch.limits.push_back(limit);
  const auto count = static_cast<std::uint32_t>(launch.limits.size());
  shaped.program.buffers[launch.uniform.index].count = count;
  return count - 1;
}

bool is_end(const Shaped& shaped, StmtId id) {
  const Body& body = shaped.program.body;
  const If* guard = std::get_if<If>(&body[id]);
  if (guard == nullptr || guard->end.index != id.index + 2 || guard->else_begin < guard->end ||
      !std::holds_alternative<Return>(body.stmts[id.index + 1])) {
    return false;
  }
  const Expr& test = body[guard->condition];
  if (test.op != Operation::Gt || body[test.args[1]].op != Operation::Load) return false;
  const Expr& limit = body[test.args[1]];
  return BufferId{limit.imm} == shaped.launch.uniform && body[limit.args[0]].imm == 0 &&
         shaped.launch.limits[0] == LaunchShape::Limit{};
}

}  // namespace vyre
