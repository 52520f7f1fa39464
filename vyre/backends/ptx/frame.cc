#include "vyre/backends/ptx/frame.h"

#include <algorithm>
#include <cstring>

#include "vyre/backends/ptx/collective.h"
#include "vyre/ir/run.h"

namespace vyre {
namespace {

using Operand = PtxOperand;
using Kind = PtxOperand::Kind;

constexpr std::uint32_t kResident = 1536;  // threads on a multiprocessor, so that 40 registers each

// Constant memory is small, and takes an access for each address that a warp asks for.
constexpr std::uint32_t kMaxConst = 4 << 10;

Operand literal(std::uint64_t value) { return PtxCode::literal(value); }

std::uint32_t bytes_of(const BufferDecl& buffer) { return buffer.count * stride(buffer.element); }

// Words of a table, with zeros up to whole stretches that one instruction moves.
std::string words_of(const BufferDecl& buffer) {
  constexpr std::size_t kWide = 16;
  std::vector<std::byte> bytes = buffer.contents.bytes();
  bytes.resize((std::max<std::size_t>(bytes.size(), 1) + kWide - 1) / kWide * kWide);
  std::string text = "[" + std::to_string(bytes.size() / 4) + "] = {";
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, &bytes[i], 4);
    text += (i == 0 ? "" : i % 64 == 0 ? ",\n\t" : ", ") + std::to_string(word);
  }
  return text + "};\n";
}

// By buffer: whether all lanes of a warp look at one element of it at a time.
std::vector<bool> find_uniform(const Lowered& lowered) {
  const Body& body = lowered.program.body;
  std::vector<bool> uniform(lowered.program.buffers.size(), true);
  for (const Expr& expr : body.exprs) {
    if (expr.op != Operation::Load) continue;
    const Shape& index = lowered.shapes[expr.args[0]];
    if (index.kind != Shape::Kind::Uniform) uniform[expr.imm] = false;
  }
  return uniform;
}

// Where threads wait for each other others should run, and several invocations in each take
// registers from them.
std::string room(const Lowered& lowered) {
  const std::uint64_t blocks = kResident / invocations_of(lowered.program);
  const LaunchShape& launch = lowered.launch;
  const bool any_waits = std::ranges::any_of(lowered.program.body.stmts, &waits);
  if (launch.copies == 1 || launch.steps > 1 || !any_waits || blocks < 2) return {};
  return "\n.minnctapersm " + std::to_string(blocks);
}

}  // namespace

PtxFrame::PtxFrame(PtxCode& code, const Lowered& lowered, std::string_view entry)
    : memory(lowered.program.buffers.size()),
      code_(code),
      lowered_(lowered),
      program_(lowered.program),
      entry_(entry.empty() ? "vyre_" + lowered.program.name.substr(0, 200) : std::string(entry)) {
  for (std::string_view name : {"first_block_x", "first_block_y", "first_block_z", "workgroups_x",
                                "workgroups_y", "workgroups_z", "shared_memory"}) {
    code.unique(name);
  }
  for (std::size_t i = 0; i < lowered.launch.limits.size(); ++i) {
    code.unique("limit_" + std::to_string(i));
  }
  find_memory();
  put_parameters();
  put_ids();
  put_shared();
  put_arrays();
  put_tables();
}

void PtxFrame::find_memory() {
  for (const Expr& expr : program_.body.exprs) {
    if (expr.op == Operation::Load) memory[expr.imm].is_used = true;
    if (expr.op == Operation::Length) memory[expr.imm].needs_length = true;
  }
  const auto use = [&](const auto& stmt) {
    if constexpr (requires { stmt.buffer; }) memory[stmt.buffer.index].is_used = true;
  };
  for (const Stmt& stmt : program_.body.stmts) std::visit(use, stmt);
  const std::vector<CheckedAccess>& accesses = lowered_.bounds.accesses;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (lowered_.places.all[i].checked) memory[accesses[i].buffer.index].needs_length = true;
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (!is_bound(buffer.access)) memory[i].length = literal(buffer.count);
  }
}

// Those that are used get registers.
void PtxFrame::put_parameters() {
  // Adds one; gives where it is.
  const auto add = [&](std::string_view type, const std::string& name) -> PtxAddress {
    parameters_ += parameters_.empty() ? "\n\t.param ." : ",\n\t.param .";
    parameters_ += std::string(type) + " " + name;
    return {code_.symbol(name)};
  };
  const auto is_given = [&](std::size_t i) {
    return is_bound(program_.buffers[i].access) && BufferId{i} != lowered_.launch.uniform;
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) count += is_given(i) ? 1 : 0;
  has_table_ = count > kPtxMaxDirect;
  const std::string space = has_table_ ? "ld.global.nc" : "ld.param";
  PtxAddress row;  // of the table
  if (has_table_) {
    const PtxAddress given = add("u64", code_.unique("buffers"));
    const Operand table = code_.define(Kind::Wide, "ld.param.u64", ", ", given);
    row = {code_.wide("cvta.to.global", "u64", {table})};
  }
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!is_given(i)) continue;
    Memory& own = memory[i];
    const std::string name = program_.buffers[i].name.substr(0, 32);
    PtxAddress address = row;
    PtxAddress length{row.base, row.offset + 8};
    row.offset += 16;
    if (!has_table_) {
      address = add("u64", code_.unique(name + "_address"));
      length = add("u32", code_.unique(name + "_length"));
    }
    if (own.is_used) {
      const Operand given = code_.define(Kind::Wide, space + ".u64", ", ", address);
      own.address = code_.named(Kind::Wide, program_.buffers[i].name, false);
      code_.put("cvta.to.global.u64 ", own.address, ", ", given);
    }
    if (own.needs_length) {
      own.length = code_.named(Kind::Word, "len_" + name, false);
      code_.put(space, ".u32 ", own.length, ", ", length);
    }
  }
  for (const char axis : {'x', 'y', 'z'}) add("u32", std::string("first_block_") + axis);
  for (std::size_t i = 0; i < lowered_.launch.limits.size(); ++i) {
    const PtxAddress given = add("u32", "limit_" + std::to_string(i));
    words.push_back(code_.define(Kind::Word, "ld.param.u32", ", ", given));
  }
  for (std::size_t axis = 0; axis < 3 && counts_workgroups(); ++axis) {
    const PtxAddress given = add("u32", std::string("workgroups_") + "xyz"[axis]);
    grid[axis] = code_.define(Kind::Word, "ld.param.u32", ", ", given);
  }
}

bool PtxFrame::counts_workgroups() const {
  return std::ranges::any_of(program_.body.exprs,
                             [](const Expr& expr) { return expr.op == Operation::NumWorkgroups; });
}

// A block of threads is a workgroup.
void PtxFrame::put_ids() {
  std::array<bool, 3> invocations{};
  std::array<bool, 3> workgroups{};
  std::array<bool, 3> locals{};
  for (const Expr& expr : program_.body.exprs) {
    if (expr.op == Operation::InvocationId) invocations[expr.detail] = true;
    if (expr.op == Operation::WorkgroupId) workgroups[expr.detail] = true;
    if (expr.op == Operation::LocalId) locals[expr.detail] = true;
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name(1, "xyz"[axis]);
    const std::uint32_t size = program_.workgroup_size[axis];
    local[axis] = literal(0);
    if (size > 1 && (invocations[axis] || locals[axis])) {
      local[axis] = code_.named(Kind::Word, "local_" + name, false);
      code_.put("mov.u32 ", local[axis], ", %tid." + name);
    }
    if (!invocations[axis] && !workgroups[axis]) continue;
    const Operand block = code_.define(Kind::Word, "mov.u32", ", %ctaid." + name);
    const Operand begin = code_.define(Kind::Word, "ld.param.u32", ", [first_block_" + name + "]");
    workgroup[axis] = code_.named(Kind::Word, "workgroup_" + name, false);
    code_.put("add.u32 ", workgroup[axis], ", ", block, ", ", begin);
    if (!invocations[axis]) continue;
    invocation[axis] = code_.named(Kind::Word, "invocation_" + name, false);
    code_.put("mad.lo.u32 ", invocation[axis], ", ", workgroup[axis], ", ", literal(size), ", ",
              local[axis]);
  }
}

// All of it has one name, so that elements of several buffers share an address.
void PtxFrame::put_shared() {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!is_workgroup(program_.buffers[i]) || !memory[i].is_used) continue;
    memory[i].space = PtxSpace::Shared;
    memory[i].at = shared_bytes_;
    shared_bytes_ += static_cast<std::uint32_t>(ptx_shared_bytes(program_.buffers[i]));
  }
  scratch_at = shared_bytes_;
  shared_bytes_ += ptx_scratch(program_).bytes();
  if (shared_bytes_ == 0) return;
  const bool is_static = shared_bytes_ <= kPtxMaxStaticShared;
  shared =
      code_.define(Kind::Word, "mov.u32", ", ", is_static ? "shared_memory" : entry_ + "_shared");
  for (Memory& own : memory) {
    if (own.space == PtxSpace::Shared) own.address = shared;
  }
}

std::string PtxFrame::symbol(std::string_view what, std::size_t buffer) const {
  return entry_ + "_" + std::string(what) + std::to_string(buffer);
}

// Memory of a thread.
void PtxFrame::put_arrays() {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Private || !memory[i].is_used) continue;
    const std::string name = symbol("array", i);
    arrays_ += "\t.local .align 16 .b8 " + name + "[" + std::to_string(bytes_of(buffer)) + "];\n";
    memory[i].space = PtxSpace::Local;
    memory[i].address = code_.named(Kind::Word, buffer.name, false);
    code_.put("mov.u32 ", memory[i].address, ", ", name);
  }
}

// Small tables that a warp looks up in one place at a time are in constant memory.
void PtxFrame::put_tables() {
  const std::vector<bool> uniform = find_uniform(lowered_);
  std::uint32_t in_const = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (buffer.access != BufferAccess::Constant || !memory[i].is_used) continue;
    const std::string name = symbol("table", i);
    const bool is_const = uniform[i] && in_const + bytes_of(buffer) <= kMaxConst;
    if (is_const) in_const += bytes_of(buffer);
    memory[i].space = is_const ? PtxSpace::Const : PtxSpace::Global;
    memory[i].address = code_.named(is_const ? Kind::Word : Kind::Wide, buffer.name, false);
    code_.put(is_const ? "mov.u32 " : "mov.u64 ", memory[i].address, ", ", name);
    tables_ +=
        (is_const ? ".const .align 16 .b32 " : ".global .align 16 .b32 ") + name + words_of(buffer);
  }
}

PtxKernel PtxFrame::kernel() const {
  PtxKernel kernel;
  kernel.entry = entry_;
  kernel.launch = lowered_.launch;
  kernel.block = program_.workgroup_size;
  kernel.has_table = has_table_;
  kernel.counts_workgroups = counts_workgroups();
  const std::string bytes = std::to_string(shared_bytes_);
  kernel.text = tables_;
  std::string inside = arrays_;
  if (shared_bytes_ > kPtxMaxStaticShared) {
    kernel.dynamic_shared = shared_bytes_;
    kernel.text += "// bytes of shared memory to ask for at a launch: " + bytes +
                   "\n.extern .shared .align 16 .b8 " + entry_ + "_shared[];\n";
  } else if (shared_bytes_ > 0) {
    inside += "\t.shared .align 16 .b8 shared_memory[" + bytes + "];\n";
  }
  const auto& groups = lowered_.launch.groups;
  const auto& block = kernel.block;
  kernel.text += "// workgroups of a block: " + std::to_string(groups[0]) + " x " +
                 std::to_string(groups[1]) + " x 1\n.visible .entry " + entry_ + "(" + parameters_ +
                 "\n)\n.reqntid " + std::to_string(block[0]) + ", " + std::to_string(block[1]) +
                 ", " + std::to_string(block[2]) + room(lowered_) + "\n{\n" + inside +
                 code_.declarations() + code_.text() + "}\n";
  return kernel;
}

}  // namespace vyre
