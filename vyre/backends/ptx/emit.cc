#include "vyre/backends/ptx/emit.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "vyre/backends/ptx/bytes.h"
#include "vyre/backends/ptx/copies.h"
#include "vyre/backends/ptx/ops.h"
#include "vyre/backends/ptx/places.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/uniformity.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/pass.h"
#include "vyre/passes/ranges.h"
#include "vyre/passes/specialise.h"
#include "vyre/text/print.h"

namespace vyre {
namespace {

using Operand = PtxOperand;
using Kind = PtxOperand::Kind;

constexpr std::size_t kLongText = 80;      // of an expression in a comment
constexpr std::uint32_t kChunk = 16;       // bytes that one instruction makes zero
constexpr std::uint32_t kUnrolled = 4;     // of those instructions for each thread
constexpr std::uint32_t kResident = 1536;  // threads on a multiprocessor, so that 40 registers each
constexpr std::string_view kLaneNames[] = {"_x", "_y", "_z", "_w"};
constexpr std::string_view kHalfNames[] = {"_lo", "_hi"};

Operand literal(std::uint64_t value) { return PtxCode::literal(value); }

bool is_workgroup(const BufferDecl& buffer) { return buffer.access == BufferAccess::Workgroup; }

// What workgroup memory takes: whole chunks.
std::uint64_t shared_bytes(const BufferDecl& buffer) {
  const std::uint64_t bytes = std::uint64_t{buffer.count} * stride(buffer.element);
  return (bytes + kChunk - 1) / kChunk * kChunk;
}

std::uint32_t log2_stride(const BufferDecl& buffer) {
  return static_cast<std::uint32_t>(std::countr_zero(stride(buffer.element)));
}

// How an instruction moves elements: several registers at once, and what each of them is.
std::string_view width_of(std::size_t parts) {
  return parts == 1 ? "" : parts == 2 ? ".v2" : ".v4";
}
std::string_view element_of(const BufferDecl& buffer) {
  return ptx_kind(buffer.element) == Kind::Wide ? ".u64 " : ".u32 ";
}

class Emitter {
 public:
  Emitter(const Program& program, const Bounds& bounds, const PtxCopies& copies,
          const PtxShape& shape, const std::vector<PtxBins>& bins, const PtxLines& lines)
      : program_(program),
        body_(program.body),
        bounds_(bounds),
        shape_(shape),
        bins_(bins),
        lines_(lines),
        types_(types_of(body_, program.buffers, {}, {})),
        places_(find_places(program, bounds)),
        moves_(find_moves(body_, types_)),
        ranges_(program),
        copies_(copies),
        ops_(code_),
        memory_(program.buffers.size()),
        all_(shape.copies, Copy(body_, places_)),
        now_(&all_.front()) {}

  PtxKernel emit(std::string_view entry);

 private:
  struct Frame : OpenBlock {
    std::size_t kept = 0;  // how much is known outside
    bool ended = false;    // a `return` or `break` was its last statement
  };
  struct Memory {
    Operand address;
    Operand length;
    bool is_used = false;
    bool needs_length = false;
    std::uint32_t shared_at = 0;
    std::uint32_t shared_step = 0;  // from a copy's to the next one's
    Operand bins;                   // of the block, in place of the buffer's elements
  };

  struct Held {
    PtxValue value;
    bool is_assigned = false;
    bool is_flag = false;  // a u32 that only ever holds results of comparisons
  };
  // An invocation that the thread runs. What is the same for all of them, the first one has.
  struct Copy {
    Copy(const Body& body, const PtxPlaces& places)
        : locals(body.locals.size()),
          memo_at(body.exprs.size()),
          loaded(places.packs.size()),
          stored(places.packs.size()) {}

    std::array<Operand, 3> invocation;
    std::array<Operand, 3> workgroup;
    std::vector<Held> locals;
    std::vector<PtxValue> memo;                // what this statement has computed so far
    std::vector<std::uint32_t> memo_at;        // by expression: its number among all computed, or 0
    std::uint32_t before = 0;                  // computed by earlier statements
    std::vector<std::vector<Operand>> loaded;  // by pack
    std::vector<std::vector<Operand>> stored;
    std::unordered_map<std::uint64_t, Operand> known;
    std::vector<Operand> conditions;       // that part copies, of the blocks that are open
    std::vector<Operand> runs{Operand{}};  // with those: whether it does; none: yes

    bool knows(ExprId id) const { return memo_at[id.index] > before; }
    const PtxValue& operator[](ExprId id) const { return memo[memo_at[id.index] - before - 1]; }
    void know(ExprId id, const PtxValue& value) {
      memo.push_back(value);
      memo_at[id.index] = before + static_cast<std::uint32_t>(memo.size());
    }
    void forget() {
      before += static_cast<std::uint32_t>(memo.size());
      memo.clear();
    }
  };
  template <class Id>
  Copy& copy_of(Id id) {
    return copies_.differs(id) ? *now_ : all_.front();
  }
  std::uint32_t number() const { return static_cast<std::uint32_t>(now_ - all_.data()); }
  template <class Action>
  void for_each_copy(Action action) {
    for (Copy& copy : all_) {
      now_ = &copy;
      action();
    }
    now_ = &all_.front();
  }
  // Once, where all copies do the same.
  template <class Id, class Action>
  void for_copies_of(Id id, Action action) {
    copies_.differs(id) ? for_each_copy(action) : action();
  }
  Operand both(const Operand& a, const Operand& b);

  // --- Before the statements
  void find_locals();
  void find_products();
  void find_memory();
  std::string put_parameters();
  void put_ids();
  std::string put_shared(std::string_view entry);
  void put_zeros(const Operand& begin, std::uint32_t bytes);
  Operand put_thread();
  void put_bins();
  void put_flush();
  std::string room() const;

  // --- Statements
  void statement(std::uint32_t i);
  void close(const Frame& closed, Frame& now);
  void put_comment(std::uint32_t i);
  void bind(LocalId local, const PtxValue& given);
  void assign(LocalId local, const PtxValue& given);
  void store(StmtId id, const Store& stmt);
  std::string_view atomic_name(AtomicOp op, BufferId buffer) const;
  void update(StmtId id, const Atomic& stmt);
  void load_first(ExprId index, ExprId what);
  void begin_loop(std::uint32_t i, const For& loop);

  // --- Expressions
  struct Visit {
    ExprId id;
    bool ready;
  };
  const PtxValue& value(ExprId root);
  void needs(ExprId id, std::vector<ExprId>& list) const;
  PtxValue made(ExprId id);
  const PtxValue& memo(ExprId id) { return copy_of(id)[id]; }
  PtxValue product(ExprId id, const PtxValue& a, const PtxValue& b);

  // --- Memory
  PtxPlace place(StmtId stmt, ExprId load, ExprId index) const;
  PtxAddress address(BufferId buffer, ExprId base, std::int64_t offset);
  Operand in_bounds(BufferId buffer, ExprId index);
  Operand runs(bool checked, BufferId buffer, ExprId index);
  PtxValue load(ExprId id);
  PtxValue load_here(ExprId id, const Expr& expr);
  PtxValue value_of(DataType element, std::span<const Operand> parts);
  std::string_view space(const BufferDecl& buffer, bool loads) const;
  void put_load(const BufferDecl& buffer, const Operand& condition, const PtxAddress& from,
                std::span<const Operand> to);
  void put_store(const BufferDecl& buffer, const Operand& condition, const PtxAddress& to,
                 std::vector<Operand> from);

  // What is known in the blocks that are open: registers by what they hold.
  enum class Known : std::uint8_t { Scaled, Address, Check, Low, High };
  Operand* known(Known what, std::uint32_t number, ExprId expr);
  void remember(Known what, std::uint32_t number, ExprId expr, const Operand& value);
  static std::uint64_t key(Known what, std::uint32_t number, ExprId expr) {
    return (std::uint64_t{number} * 8 + static_cast<std::uint64_t>(what)) << 32 | expr.index;
  }
  Copy& known_in(Known what, std::uint32_t number, ExprId expr) {
    const bool is_product = what == Known::Low || what == Known::High;
    return is_product && copies_.differs(ExprId{number}) ? *now_ : copy_of(expr);
  }
  bool is_stable(ExprId id) const { return places_.stable[id.index]; }

  const Program& program_;
  const Body& body_;
  const Bounds& bounds_;
  const PtxShape shape_;
  const std::vector<PtxBins>& bins_;
  const PtxLines& lines_;
  const Types types_;
  const PtxPlaces places_;
  const std::vector<BytesMove> moves_;
  Ranges ranges_;
  const PtxCopies& copies_;
  PtxCode code_;
  PtxOps ops_;

  std::vector<Memory> memory_;
  std::vector<Copy> all_;
  Copy* now_;
  std::array<Operand, 3> local_;

  StmtId at_;
  Operand step_;
  std::vector<bool> is_product_;  // of which both halves are wanted
  std::vector<std::pair<Copy*, std::uint64_t>>
      kept_;                     // what is known, in the order in which it came
  std::vector<Operand> limits_;  // of the loops that are open
  std::vector<Visit> work_;      // room for walks
  std::vector<ExprId> list_;
  std::uint32_t line_ = 0;
  PtxKernel kernel_;
};

// --- Before the statements ----------------------------------------------------------------------

void Emitter::find_locals() {
  const auto is_test = [&](ExprId id) {
    const Expr& expr = body_[id];
    if (types_[id] != DataType::U32) return false;
    if (expr.op == Operation::Literal) return expr.imm <= 1;
    return ptx_is_test(expr.op);
  };
  std::vector<Held>& locals = all_.front().locals;
  const auto gives = [&](LocalId local, bool test) {
    locals[local.index].is_flag = locals[local.index].is_flag && test;
  };
  for (Held& held : locals) held.is_flag = true;
  for (const Stmt& stmt : body_.stmts) {
    if (const Let* let = std::get_if<Let>(&stmt)) gives(let->local, is_test(let->value));
    if (const Assign* assign = std::get_if<Assign>(&stmt)) {
      gives(assign->local, is_test(assign->value));
      locals[assign->local.index].is_assigned = true;
    }
    if (const Atomic* atomic = std::get_if<Atomic>(&stmt); atomic && atomic->result.exists()) {
      gives(atomic->result, false);
    }
  }
  for (Copy& copy : all_) copy.locals = locals;
}

// A product of u32 whose low and high word are both wanted somewhere.
void Emitter::find_products() {
  is_product_.resize(body_.exprs.size());
  std::unordered_map<std::uint64_t, std::uint32_t> lows;
  const auto pair = [](const Expr& expr) {
    return std::uint64_t{expr.args[0].index} << 32 | expr.args[1].index;
  };
  const auto is_of_words = [&](const Expr& expr) {
    return types_[expr.args[0]] == DataType::U32 && is_stable(expr.args[0]) &&
           is_stable(expr.args[1]);
  };
  for (std::uint32_t i = 0; i < body_.exprs.size(); ++i) {
    const Expr& expr = body_.exprs[i];
    if (expr.op == Operation::Mul && is_of_words(expr)) lows[pair(expr)] = i;
  }
  for (std::uint32_t i = 0; i < body_.exprs.size(); ++i) {
    const Expr& expr = body_.exprs[i];
    if (expr.op != Operation::MulHigh || !is_of_words(expr)) continue;
    const auto low = lows.find(pair(expr));
    if (low == lows.end()) continue;
    is_product_[i] = is_product_[low->second] = true;
  }
}

void Emitter::find_memory() {
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::Load) memory_[expr.imm].is_used = true;
    if (expr.op == Operation::Length) memory_[expr.imm].needs_length = true;
  }
  for (const Stmt& stmt : body_.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) memory_[store->buffer.index].is_used = true;
    if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      memory_[atomic->buffer.index].is_used = true;
    }
  }
  for (std::size_t i = 0; i < bounds_.accesses.size(); ++i) {
    if (places_.all[i].checked) memory_[bounds_.accesses[i].buffer.index].needs_length = true;
  }
  for (const PtxBins& bins : bins_) memory_[bins.buffer.index].needs_length = true;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (bounds_.accesses.empty() && memory_[i].is_used) memory_[i].needs_length = true;
    if (is_workgroup(program_.buffers[i])) memory_[i].length = literal(program_.buffers[i].count);
  }
}

// The list of parameters; those that are used get registers.
std::string Emitter::put_parameters() {
  std::string list;
  const auto add = [&](std::string_view type, const std::string& name) {
    list += (list.empty() ? "\n\t.param ." : ",\n\t.param .") + std::string(type) + " " + name;
  };
  const std::size_t count =
      program_.buffers.size() -
      static_cast<std::size_t>(std::ranges::count_if(program_.buffers, is_workgroup));
  kernel_.has_table = count > kPtxMaxDirect;
  Operand table;
  if (kernel_.has_table) {
    const std::string name = code_.unique("buffers");
    add("u64", name);
    table = code_.define(Kind::Wide, "ld.param.u64", ", [", name, "]");
    table = code_.wide("cvta.to.global", "u64", {table});
  }
  std::int64_t row = 0;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const BufferDecl& buffer = program_.buffers[i];
    if (is_workgroup(buffer)) continue;
    Memory& memory = memory_[i];
    if (kernel_.has_table) {
      if (memory.is_used) {
        const Operand given =
            code_.define(Kind::Wide, "ld.global.nc.u64", ", ", PtxAddress{table, row * 16});
        memory.address = code_.named(Kind::Wide, buffer.name, false);
        code_.put("cvta.to.global.u64 ", memory.address, ", ", given);
      }
      if (memory.needs_length) {
        memory.length = code_.named(Kind::Word, "len_" + buffer.name.substr(0, 32), false);
        code_.put("ld.global.nc.u32 ", memory.length, ", ", PtxAddress{table, row * 16 + 8});
      }
      ++row;
      continue;
    }
    const std::string address = code_.unique(buffer.name.substr(0, 32) + "_address");
    const std::string length = code_.unique(buffer.name.substr(0, 32) + "_length");
    add("u64", address);
    add("u32", length);
    if (memory.is_used) {
      const Operand given = code_.define(Kind::Wide, "ld.param.u64", ", [", address, "]");
      memory.address = code_.named(Kind::Wide, buffer.name, false);
      code_.put("cvta.to.global.u64 ", memory.address, ", ", given);
    }
    if (memory.needs_length) {
      memory.length = code_.named(Kind::Word, "len_" + buffer.name.substr(0, 32), false);
      code_.put("ld.param.u32 ", memory.length, ", [", length, "]");
    }
  }
  for (const char axis : {'x', 'y', 'z'}) add("u32", std::string("first_workgroup_") + axis);
  for (const char axis : {'x', 'y'}) add("u32", std::string("workgroups_") + axis);
  return list;
}

// The one place that says which thread is which invocation: thread t of block b, along x, is
// invocation t % size of workgroup b * groups + t / size, where size is a workgroup's; and the same
// one of the workgroups that follow those of the block, one for each copy. Along y those of a
// block are b * rows and what follows.
void Emitter::put_ids() {
  std::array<bool, 3> invocation{};
  std::array<bool, 3> workgroup{};
  std::array<bool, 3> local{};
  for (const Expr& expr : body_.exprs) {
    if (expr.op == Operation::InvocationId) invocation[expr.detail] = true;
    if (expr.op == Operation::WorkgroupId) workgroup[expr.detail] = true;
    if (expr.op == Operation::LocalId) local[expr.detail] = true;
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string name(1, "xyz"[axis]);
    const std::uint32_t size = program_.workgroup_size[axis];
    const std::uint32_t all = axis == 0 ? shape_.groups : axis == 1 ? shape_.rows : 1;
    const std::uint32_t merged = shape_.block[axis] / size;
    const std::uint32_t copies = copies_.axis == axis ? shape_.copies : 1;
    local_[axis] = literal(0);
    if (!invocation[axis] && !workgroup[axis] && !local[axis] && all == 1) continue;
    Operand thread = literal(0);
    if (shape_.block[axis] > 1) thread = code_.define(Kind::Word, "mov.u32", ", %tid." + name);
    Operand first;  // workgroup of the block
    if (invocation[axis] || workgroup[axis] || all > 1) {
      const Operand block = code_.define(Kind::Word, "mov.u32", ", %ctaid." + name);
      const Operand begin =
          code_.define(Kind::Word, "ld.param.u32", ", [first_workgroup_" + name + "]");
      first = all > 1 ? code_.word("mad.lo", "u32", {block, literal(all), begin})
                      : code_.word("add", "u32", {block, begin});
    }
    if (axis == 0 && shape_.steps > 1) {
      step_ = code_.named(Kind::Word, "step", true);
      code_.move(step_, literal(0));
      code_.put_label("step", 0);
      const std::uint64_t each = shape_.groups / shape_.steps;
      first = code_.word("mad.lo", "u32", {step_, literal(each), first});
    }
    Operand group = first;
    local_[axis] = thread;
    Operand number;  // of the workgroup, in the block
    if (merged > 1) {
      number = thread;
      if (std::has_single_bit(size)) {
        const auto shift = static_cast<std::uint64_t>(std::countr_zero(size));
        if (size > 1) number = code_.word("shr", "u32", {thread, literal(shift)});
      } else {
        const Operand scaled = code_.word("mul.lo", "u32", {thread, literal(ptx_reciprocal(size))});
        number = code_.word("shr", "u32", {scaled, literal(kPtxReciprocalShift)});
      }
      group = code_.word("add", "u32", {first, number});
    }
    // The last block may have places that no workgroup takes.
    Operand end;
    if (all > 1) end = code_.define(Kind::Word, "ld.param.u32", ", [workgroups_" + name + "]");
    if (merged > 1 || (axis == 0 && shape_.steps > 1)) {
      code_.put("@", code_.predicate("setp.ge", "u32", {group, end}),
                shape_.steps > 1 ? " bra flush0" : " ret");
    }
    if (merged > 1 && local[axis]) {
      const Operand before = code_.word("mul.lo", "u32", {number, literal(size)});
      local_[axis] = code_.word("sub", "u32", {thread, before});
    }
    if (local[axis] && !local_[axis].is_literal()) {
      const Operand to = code_.named(Kind::Word, "local_" + name, false);
      code_.move_last(to, local_[axis]);
      local_[axis] = to;
    }
    for (std::uint32_t k = 0; k < copies; ++k) {
      Copy& copy = all_[k];
      Operand own = group;
      if (k > 0) {
        own = code_.word("add", "u32", {group, literal(std::uint64_t{k} * merged)});
        copy.runs[0] = code_.predicate("setp.lt", "u32", {own, end});
      }
      if (workgroup[axis]) {
        copy.workgroup[axis] = code_.named(Kind::Word, "workgroup_" + name, false);
        code_.move(copy.workgroup[axis], own);
      }
      if (!invocation[axis]) continue;
      copy.invocation[axis] = code_.named(Kind::Word, "invocation_" + name, false);
      if (k == 0) {
        code_.put("mad.lo.u32 ", copy.invocation[axis], ", ", first, ", ", literal(size), ", ",
                  thread);
      } else {
        code_.put("add.u32 ", copy.invocation[axis], ", ", all_[0].invocation[axis], ", ",
                  literal(std::uint64_t{k} * shape_.block[axis]));
      }
    }
  }
}

// Workgroup memory, zero from the beginning: what has to be comes first. What stands in front of
// the kernel, if anything.
std::string Emitter::put_shared(std::string_view entry) {
  const std::vector<bool> filled = find_filled(program_, bounds_, places_);
  std::uint32_t bytes = 0;
  std::uint32_t zeros = 0;
  for (const bool is_filled : {false, true}) {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const BufferDecl& buffer = program_.buffers[i];
      if (!is_workgroup(buffer) || !memory_[i].is_used || filled[i] != is_filled) continue;
      memory_[i].shared_at = bytes;
      const auto size = static_cast<std::uint32_t>(shared_bytes(buffer));
      memory_[i].shared_step = size;
      const auto id = static_cast<std::uint32_t>(i);
      bytes += copies_.differs(BufferId{id}) ? size * copies_.count : size;
    }
    if (!is_filled) zeros = bytes;
  }
  if (bytes == 0) return {};
  std::string outside;
  std::string name = "shared_memory";
  if (bytes > kPtxMaxStaticShared) {
    name = std::string(entry) + "_shared";
    outside = "// bytes of shared memory to ask for at a launch: " + std::to_string(bytes) +
              "\n.extern .shared .align 16 .b8 " + name + "[];\n";
    kernel_.dynamic_shared = bytes;
  } else {
    code_.raw("\t.shared .align 16 .b8 " + name + "[" + std::to_string(bytes) + "];\n");
  }
  const Operand begin = code_.define(Kind::Word, "mov.u32", ", " + name);
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (!is_workgroup(program_.buffers[i]) || !memory_[i].is_used) continue;
    memory_[i].address = code_.named(Kind::Word, program_.buffers[i].name, false);
    code_.put("add.u32 ", memory_[i].address, ", ", begin, ", ", literal(memory_[i].shared_at));
  }
  if (zeros > 0) {
    code_.raw("\t// workgroup memory begins as zeros\n");
    put_zeros(begin, zeros);
  }
  return outside;
}

// The number of the thread in its block.
Operand Emitter::put_thread() {
  const auto& size = shape_.block;
  Operand thread = code_.define(Kind::Word, "mov.u32", ", %tid.x");
  std::uint32_t below = size[0];
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    if (size[axis] == 1) continue;
    const Operand more = code_.define(Kind::Word, "mov.u32", std::string(", %tid.") + "xyz"[axis]);
    thread = code_.word("mad.lo", "u32", {more, literal(below), thread});
    below *= size[axis];
  }
  return thread;
}

// Memory of the block in which updates are gathered, as what leaves everything as it is.
void Emitter::put_bins() {
  if (bins_.empty()) return;
  const std::uint32_t threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
  std::uint32_t words = 0;
  for (const PtxBins& bins : bins_) words += bins.count;
  code_.raw("\t.shared .align 16 .b8 shared_memory[" + std::to_string(words * 4) + "];\n");
  code_.raw("\t// updates of this block\n");
  const Operand thread = put_thread();
  Operand begin = code_.define(Kind::Word, "mov.u32", ", shared_memory");
  for (const PtxBins& bins : bins_) {
    memory_[bins.buffer.index].bins = begin;
    const Operand own = code_.word("mad.lo", "u32", {thread, literal(4), begin});
    const Operand nothing = code_.define(Kind::Word, "mov.b32", ", ", literal(bins.nothing));
    for (std::uint32_t done = 0; done < bins.count; done += threads) {
      Operand condition;
      if (done + threads > bins.count) {
        condition = code_.predicate("setp.lt", "u32", {thread, literal(bins.count - done)});
      }
      code_.put_if(condition, "st.shared.u32 ", PtxAddress{own, std::int64_t{done} * 4}, ", ",
                   nothing);
    }
    begin = code_.word("add", "u32", {begin, literal(std::uint64_t{bins.count} * 4)});
  }
  code_.put("bar.sync 0");
}

// What was gathered, where it belongs.
void Emitter::put_flush() {
  const std::uint32_t threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
  code_.put_label("next", 0);
  code_.put("add.u32 ", step_, ", ", step_, ", 1");
  const Operand more = code_.predicate("setp.lt", "u32", {step_, literal(shape_.steps)});
  code_.put("@", more, " bra step0");
  code_.put_label("flush", 0);
  code_.raw("\t// updates of this block\n");
  code_.put("bar.sync 0");
  const Operand thread = put_thread();
  for (const PtxBins& bins : bins_) {
    const Memory& memory = memory_[bins.buffer.index];
    const Operand own = code_.word("mad.lo", "u32", {thread, literal(4), memory.bins});
    const Operand distance = code_.wide("mul.wide", "u32", {thread, literal(4)});
    const Operand to = code_.wide("add", "u64", {memory.address, distance});
    const Operand end = code_.word("min", "u32", {memory.length, literal(bins.count)});
    for (std::uint32_t done = 0; done < bins.count; done += threads) {
      const std::int64_t bytes = std::int64_t{done} * 4;
      const Operand element = code_.word("add", "u32", {thread, literal(done)});
      const Operand inside = code_.predicate("setp.lt", "u32", {element, end});
      const Operand sum = code_.fresh(Kind::Word);
      code_.move(sum, literal(bins.nothing));
      code_.put_if(inside, "ld.shared.u32 ", sum, ", ", PtxAddress{own, bytes});
      const Operand changes = code_.predicate("setp.ne", "u32", {sum, literal(bins.nothing)});
      code_.put_if(changes, "red.global.", atomic_name(bins.op, bins.buffer), PtxAddress{to, bytes},
                   ", ", sum);
    }
  }
}

// By all threads together.
void Emitter::put_zeros(const Operand& begin, std::uint32_t bytes) {
  const std::uint32_t threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
  const std::uint32_t chunks = bytes / kChunk;
  const Operand thread = put_thread();
  const Operand zero = code_.define(Kind::Word, "mov.b32", ", 0");
  const Operand at = code_.word("mad.lo", "u32", {thread, literal(kChunk), begin});
  const auto put = [&](const Operand& condition, const Operand& to, std::int64_t offset) {
    code_.put_if(condition, "st.shared.v4.b32 ", PtxAddress{to, offset}, ", {", zero, ", ", zero,
                 ", ", zero, ", ", zero, "}");
  };
  if (chunks > kUnrolled * threads) {
    const std::uint32_t label = code_.label();
    const Operand end = code_.word("add", "u32", {begin, literal(bytes)});
    const Operand next = code_.fresh(Kind::Word);
    code_.move(next, at);
    code_.put_label("zeros", label);
    put({}, next, 0);
    code_.put("add.u32 ", next, ", ", next, ", ", literal(std::uint64_t{threads} * kChunk));
    const Operand more = code_.predicate("setp.lt", "u32", {next, end});
    code_.put("@", more, " bra zeros", label);
  } else {
    for (std::uint32_t done = 0; done < chunks; done += threads) {
      Operand condition;
      if (done + threads > chunks) {
        condition = code_.predicate("setp.lt", "u32", {thread, literal(chunks - done)});
      }
      put(condition, at, std::int64_t{done} * kChunk);
    }
  }
  code_.put("bar.sync 0");
}

PtxKernel Emitter::emit(std::string_view entry) {
  kernel_.entry = entry.empty() ? "vyre_" + program_.name.substr(0, 200) : std::string(entry);
  kernel_.shape = shape_;
  for (std::string_view name : {"first_workgroup_x", "first_workgroup_y", "first_workgroup_z",
                                "workgroups_x", "workgroups_y", "shared_memory"}) {
    code_.unique(name);
  }
  find_locals();
  find_products();
  find_memory();
  const std::string list = put_parameters();
  put_bins();
  put_ids();
  const std::string outside = put_shared(kernel_.entry);

  BlockStack<Frame> stack(body_);
  for (std::uint32_t i = 0; i < body_.stmts.size(); ++i) {
    stack.enter(i, [&](const Frame& closed, Frame& now) { close(closed, now); });
    at_ = StmtId{i};
    for (Copy& copy : all_) copy.forget();
    statement(i);
    const Stmt& stmt = body_.stmts[i];
    if (std::holds_alternative<Break>(stmt) || std::holds_alternative<Return>(stmt)) {
      stack.back().ended = true;
    }
    if (std::holds_alternative<Break>(stmt)) {
      const auto loop = std::ranges::find_if(stack.frames().rbegin(), stack.frames().rend(),
                                             [](const Frame& frame) { return frame.is_loop; });
      code_.put("bra done", loop->owner);
    }
    if (Frame* opened = stack.open(i)) opened->kept = kept_.size();
  }
  stack.enter(static_cast<std::uint32_t>(body_.stmts.size()),
              [&](const Frame& closed, Frame& now) { close(closed, now); });
  if (shape_.steps > 1) put_flush();
  code_.put("ret");

  const auto& block = shape_.block;
  const std::string workgroups =
      std::to_string(shape_.groups) + " x " + std::to_string(shape_.rows) + " x 1";
  kernel_.text = outside + "// workgroups of a block: " + workgroups + "\n.visible .entry " +
                 kernel_.entry + "(" + list + "\n)\n.reqntid " + std::to_string(block[0]) + ", " +
                 std::to_string(block[1]) + ", " + std::to_string(block[2]) + room() + "\n{\n" +
                 code_.declarations();
  kernel_.text.reserve(kernel_.text.size() + code_.text().size() + 2);
  kernel_.text += code_.text();
  kernel_.text += "}\n";
  return std::move(kernel_);
}

// Where threads wait for each other others should run, and copies take registers from them.
std::string Emitter::room() const {
  const auto& block = shape_.block;
  const std::uint32_t blocks = kResident / (block[0] * block[1] * block[2]);
  if (copies_.count == 1 || ptx_is_free(program_) || blocks < 2) return {};
  return "\n.minnctapersm " + std::to_string(blocks);
}

// --- Statements ---------------------------------------------------------------------------------

void Emitter::put_comment(std::uint32_t i) {
  // The assembler takes nothing but ASCII; a text that was cut ends in another character.
  const auto text = [&](ExprId id) {
    std::string cut = print_expr(body_, program_.buffers, id, kLongText);
    if (const std::size_t end = cut.find('\xe2'); end != cut.npos) cut.replace(end, 3, "...");
    return cut;
  };
  const auto name = [&](LocalId id) { return body_[id].name.substr(0, kLongText); };
  const auto element = [&](BufferId buffer, ExprId index) {
    return program_.buffers[buffer.index].name.substr(0, kLongText) + "[" + text(index) + "]";
  };
  struct Describe {
    decltype(text)& text_of;
    decltype(name)& name_of;
    decltype(element)& element_of;

    std::string operator()(const Let& let) const {
      return "let " + name_of(let.local) + " = " + text_of(let.value);
    }
    std::string operator()(const Assign& assign) const {
      return name_of(assign.local) + " = " + text_of(assign.value);
    }
    std::string operator()(const Store& store) const {
      return element_of(store.buffer, store.index) + " = " + text_of(store.value);
    }
    std::string operator()(const Atomic& atomic) const {
      return (atomic.result.exists() ? "let " + name_of(atomic.result) + " = " : "") +
             std::string(info(atomic.op).text) + "(" + element_of(atomic.buffer, atomic.index) +
             (atomic.expected.exists() ? ", " + text_of(atomic.expected) : "") + ", " +
             text_of(atomic.value) + ")";
    }
    std::string operator()(const If& branch) const { return "if " + text_of(branch.condition); }
    std::string operator()(const For& loop) const {
      return "for " + name_of(loop.variable) + " in " + text_of(loop.from) + ".." +
             text_of(loop.to);
    }
    std::string operator()(const Block&) const { return "{"; }
    std::string operator()(const Break&) const { return "break"; }
    std::string operator()(const Return&) const { return "return"; }
    std::string operator()(const Barrier&) const { return "barrier"; }
  };
  if (i < lines_.size() && lines_[i] != 0 && lines_[i] != line_) {
    line_ = lines_[i];
    code_.raw("\t.loc 1 " + std::to_string(line_) + " 0\n");
  }
  code_.raw("\t// " + std::visit(Describe{text, name, element}, body_.stmts[i]) + "\n");
}

void Emitter::statement(std::uint32_t i) {
  put_comment(i);
  const Stmt& stmt = body_.stmts[i];
  if (const Let* let = std::get_if<Let>(&stmt)) {
    for_copies_of(let->local, [&] { bind(let->local, value(let->value)); });
  } else if (const Assign* assigned = std::get_if<Assign>(&stmt)) {
    for_copies_of(assigned->local, [&] { assign(assigned->local, value(assigned->value)); });
  } else if (const Store* stored = std::get_if<Store>(&stmt)) {
    if (is_workgroup(program_.buffers[stored->buffer.index]) && !copies_.differs(stored->buffer)) {
      store(at_, *stored);
    } else {
      load_first(stored->index, stored->value);
      for_each_copy([&] { store(at_, *stored); });
    }
  } else if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
    load_first(atomic->index, atomic->value);
    for_each_copy([&] { update(at_, *atomic); });
  } else if (const If* branch = std::get_if<If>(&stmt)) {
    if (copies_.differs(at_)) {
      for_each_copy([&] {
        Operand condition = ops_.truth(value(branch->condition));
        // It is what it is now, whatever the block makes of the local.
        if (code_.is_mutable(condition)) {
          const Operand now = code_.fresh(Kind::Predicate);
          code_.move(now, condition);
          condition = now;
        }
        now_->conditions.push_back(condition);
        now_->runs.push_back(both(now_->runs.back(), condition));
      });
      return;
    }
    const Operand condition = ops_.truth(value(branch->condition));
    const bool has_else = branch->else_begin < branch->end;
    code_.put("@!", condition, has_else ? " bra else" : " bra end", i);
  } else if (const For* loop = std::get_if<For>(&stmt)) {
    begin_loop(i, *loop);
  } else if (std::holds_alternative<Return>(stmt)) {
    code_.put(shape_.steps > 1 ? "bra next0" : "ret");
  } else if (std::holds_alternative<Barrier>(stmt)) {
    code_.put("bar.sync 0");
  }
}

// What the copies load, before what they store.
void Emitter::load_first(ExprId index, ExprId what) {
  if (copies_.count == 1) return;
  for_each_copy([&] {
    value(index);
    value(what);
  });
}

void Emitter::close(const Frame& closed, Frame& now) {
  for (; kept_.size() > closed.kept; kept_.pop_back()) {
    kept_.back().first->known.erase(kept_.back().second);
  }
  const Stmt& owner = body_.stmts[closed.owner];
  if (const For* loop = std::get_if<For>(&owner)) {
    if (!closed.ended) {
      const Operand variable = all_.front().locals[loop->variable.index].value.parts[0];
      code_.put("add.u32 ", variable, ", ", variable, ", 1");
      const Operand more = code_.predicate("setp.lt", "u32", {variable, limits_.back()});
      code_.put("@", more, " bra loop", closed.owner);
    }
    limits_.pop_back();
    code_.put_label("done", closed.owner);
  } else if (const If* branch = std::get_if<If>(&owner)) {
    const bool goes_on = !closed.is_else && branch->else_begin < branch->end;
    if (copies_.differs(StmtId{closed.owner})) {
      for_each_copy([&] {
        now_->runs.pop_back();
        if (goes_on) {
          const Operand other = code_.predicate("not", "pred", {now_->conditions.back()});
          now_->runs.push_back(both(now_->runs.back(), other));
        } else {
          now_->conditions.pop_back();
        }
      });
      now.kept = goes_on ? kept_.size() : now.kept;
      return;
    }
    if (goes_on) {
      if (!closed.ended) code_.put("bra end", closed.owner);
      code_.put_label("else", closed.owner);
      now.kept = kept_.size();
    } else {
      code_.put_label("end", closed.owner);
    }
  }
}

void Emitter::begin_loop(std::uint32_t i, const For& loop) {
  const Operand from = ops_.whole(value(loop.from)).parts[0];
  Operand to = ops_.whole(value(loop.to)).parts[0];
  const Operand variable = code_.named(Kind::Word, body_[loop.variable].name, false);
  // The end is what it is now, whatever becomes of the local.
  if (code_.is_mutable(to)) {
    const Operand now = code_.fresh(Kind::Word);
    code_.move(now, to);
    to = now;
  }
  code_.move(variable, from);
  if (!from.is_literal() || !to.is_literal() || from.value >= to.value) {
    code_.put("@", code_.predicate("setp.ge", "u32", {variable, to}), " bra done", i);
  }
  code_.put_label("loop", i);
  limits_.push_back(to);
  all_.front().locals[loop.variable.index].value = {DataType::U32, false, {variable}};
}

// A new local. What never changes goes by the names that it has.
void Emitter::bind(LocalId local, const PtxValue& given) {
  Held& held = copy_of(local).locals[local.index];
  const DataType type = types_[local];
  PtxValue from = given;
  bool is_test = given.is_test;
  if (held.is_assigned) {
    is_test = type == DataType::Bool || (type == DataType::U32 && held.is_flag);
    if (!is_test) from = ops_.whole(given);
    if (is_test && !given.is_test) from.parts[0] = literal(given.parts[0].value);
  }
  held.value = {type, is_test, {}};
  const std::uint32_t count = ptx_parts(type);
  const Kind kind = is_test ? Kind::Predicate : ptx_kind(type);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Operand& part = from.parts[i];
    if (!held.is_assigned &&
        (part.is_literal() || (part.kind == Kind::Named && !code_.is_mutable(part)))) {
      held.value.parts[i] = part;
      continue;
    }
    std::string name = body_[local].name;
    if (count > 1) name += is_vector(type) ? kLaneNames[i] : kHalfNames[i];
    held.value.parts[i] = code_.named(kind, name, held.is_assigned);
    // Several parts may be the same register, and those of several copies.
    count > 1 || copies_.count > 1 ? code_.move(held.value.parts[i], part)
                                   : code_.move_last(held.value.parts[i], part);
  }
}

void Emitter::assign(LocalId local, const PtxValue& given) {
  const PtxValue& to = copy_of(local).locals[local.index].value;
  PtxValue from = given;
  if (!to.is_test) from = ops_.whole(given);
  if (to.is_test && !given.is_test) from.parts[0] = literal(given.parts[0].value);
  const std::uint32_t count = ptx_parts(to.type);
  // Parts may change places.
  for (std::uint32_t i = 0; count > 1 && i < count; ++i) {
    if (!code_.is_mutable(from.parts[i]) || from.parts[i] == to.parts[i]) continue;
    const Operand now = code_.fresh(ptx_kind(to.type));
    code_.move(now, from.parts[i]);
    from.parts[i] = now;
  }
  // The locals of a copy that has no workgroup are nobody's.
  const Operand runs = now_->conditions.empty() ? Operand{} : now_->runs.back();
  if (count == 1 && copies_.count == 1 && !runs.exists())
    return code_.move_last(to.parts[0], from.parts[0]);
  for (std::uint32_t i = 0; i < count; ++i) code_.move(to.parts[i], from.parts[i], runs);
}

void Emitter::store(StmtId id, const Store& stmt) {
  const BufferDecl& buffer = program_.buffers[stmt.buffer.index];
  const PtxPlace at = place(id, {}, stmt.index);
  const std::uint32_t parts = ptx_parts(loaded_type(buffer.element));
  if (at.pack == PtxPlace::kNoPack) {
    if (at.checked) value(stmt.index);
    const PtxValue what = ops_.whole(value(stmt.value));
    const Operand condition = runs(at.checked, stmt.buffer, stmt.index);
    const PtxAddress to = address(stmt.buffer, at.base, at.offset);
    put_store(buffer, condition, to, {what.parts.begin(), what.parts.begin() + parts});
    return;
  }
  const PtxPack& pack = places_.packs[at.pack];
  const PtxValue what = ops_.whole(value(stmt.value));
  std::vector<Operand>& all = now_->stored[at.pack];
  all.resize(std::size_t{pack.width} * parts);
  for (std::uint32_t i = 0; i < parts; ++i) {
    Operand part = what.parts[i];
    // The local may have another value when the last one comes.
    if (code_.is_mutable(part) && pack.at != id) {
      const Operand now = code_.fresh(ptx_kind(buffer.element));
      code_.move(now, part);
      part = now;
    }
    all[at.lane * parts + i] = part;
  }
  if (pack.at != id) return;
  const Operand condition = runs(false, stmt.buffer, stmt.index);
  put_store(buffer, condition, address(stmt.buffer, pack.base, pack.offset), std::move(all));
}

std::string_view Emitter::atomic_name(AtomicOp op, BufferId buffer) const {
  const bool is_signed = program_.buffers[buffer.index].element == DataType::I32;
  switch (op) {
    case AtomicOp::Add: return "add.u32 ";
    case AtomicOp::And: return "and.b32 ";
    case AtomicOp::Or: return "or.b32 ";
    case AtomicOp::Xor: return "xor.b32 ";
    case AtomicOp::Min: return is_signed ? "min.s32 " : "min.u32 ";
    case AtomicOp::Max: return is_signed ? "max.s32 " : "max.u32 ";
    case AtomicOp::Exchange: return "exch.b32 ";
    case AtomicOp::CompareExchange: return "cas.b32 ";
  }
  return {};
}

void Emitter::update(StmtId id, const Atomic& stmt) {
  const PtxPlace at = place(id, {}, stmt.index);
  if (at.checked) value(stmt.index);
  Operand expected;
  if (stmt.expected.exists()) expected = ops_.whole(value(stmt.expected)).parts[0];
  const Operand operand = ops_.whole(value(stmt.value)).parts[0];
  const Operand condition = runs(at.checked, stmt.buffer, stmt.index);
  const PtxAddress to = address(stmt.buffer, at.base, at.offset);
  const std::string_view name = atomic_name(stmt.op, stmt.buffer);
  if (!stmt.result.exists() && info(stmt.op).order == AtomicOrder::Any) {
    const bool gathers = memory_[stmt.buffer.index].bins.exists();
    code_.put_if(condition, gathers ? "red.shared." : "red.global.", name, to, ", ", operand);
    return;
  }
  const Operand old = code_.fresh(Kind::Word);
  if (condition.exists()) code_.move(old, literal(0));
  if (expected.exists()) {
    code_.put_if(condition, "atom.global.", name, old, ", ", to, ", ", expected, ", ", operand);
  } else {
    code_.put_if(condition, "atom.global.", name, old, ", ", to, ", ", operand);
  }
  if (stmt.result.exists()) bind(stmt.result, {types_[stmt.result], false, {old}});
}

// --- Expressions --------------------------------------------------------------------------------

// What has to be computed before an expression.
void Emitter::needs(ExprId id, std::vector<ExprId>& list) const {
  const Expr& expr = body_[id];
  if (expr.op == Operation::Load) {
    const PtxPlace at = place(at_, id, expr.args[0]);
    if (at.checked) list.push_back(expr.args[0]);
    if (at.base.exists()) list.push_back(at.base);
    return;
  }
  if (const BytesMove& move = moves_[id.index]; move.first.exists()) {
    list.push_back(move.first);
    if (move.second.exists()) list.push_back(move.second);
    return;
  }
  for (ExprId arg : operands(body_, expr)) list.push_back(arg);
}

// The value in this statement, computed once in it; it stays where it is until the next one is.
const PtxValue& Emitter::value(ExprId root) {
  const std::size_t outer = work_.size();  // an address is computed while an access is
  work_.push_back({root, false});
  while (work_.size() > outer) {
    const Visit visit = work_.back();
    work_.pop_back();
    Copy& copy = copy_of(visit.id);
    if (copy.knows(visit.id)) continue;
    if (visit.ready) {
      copy.know(visit.id, made(visit.id));
      continue;
    }
    work_.push_back({visit.id, true});
    list_.clear();
    needs(visit.id, list_);
    for (std::size_t k = list_.size(); k-- > 0;) work_.push_back({list_[k], false});
  }
  return memo(root);
}

PtxValue Emitter::made(ExprId id) {
  const Expr& expr = body_[id];
  const auto arg = [&](std::size_t i) -> const PtxValue& { return memo(operands(body_, expr)[i]); };
  if (const BytesMove& move = moves_[id.index]; move.first.exists()) {
    const auto word = [&](ExprId from) {
      return from.exists() ? ops_.whole(memo(from)).parts[0] : literal(0);
    };
    const Operand first = word(move.first);
    const Operand second = word(move.second);
    return {
        DataType::U32, false, {code_.word("prmt", "b32", {first, second, literal(move.selector)})}};
  }
  switch (expr.op) {
    case Operation::Literal: return ops_.constant(type_of_detail(expr), literal_bits(body_, expr));
    case Operation::Local: return copy_of(LocalId{expr.imm}).locals[expr.imm].value;
    case Operation::Load: return load(id);
    case Operation::Length: return {DataType::U32, false, {memory_[expr.imm].length}};
    case Operation::InvocationId:
      return {DataType::U32, false, {copy_of(id).invocation[expr.detail]}};
    case Operation::WorkgroupId:
      return {DataType::U32, false, {copy_of(id).workgroup[expr.detail]}};
    case Operation::LocalId: return {DataType::U32, false, {local_[expr.detail]}};
    case Operation::Select: return ops_.select(arg(0), arg(1), arg(2));
    case Operation::Cast: return ops_.cast(type_of_detail(expr), arg(0));
    case Operation::Vec2:
    case Operation::Vec4: {
      PtxValue vector{types_[id], false, {}};
      for (std::size_t i = 0; i < ptx_parts(vector.type); ++i) {
        vector.parts[i] = ops_.whole(arg(i)).parts[0];
      }
      return vector;
    }
    case Operation::Lane: return {DataType::U32, false, {arg(0).parts[expr.detail]}};
    case Operation::Call: break;  // expanded long ago
    case Operation::Mul:
    case Operation::MulHigh:
      if (is_product_[id.index]) return product(id, arg(0), arg(1));
      return ops_.apply(expr.op, arg(0), arg(1));
    case Operation::Div:
    case Operation::Mod: {
      ranges_.go_to(at_);
      const Range range = ranges_.range(ranges_.value(expr.args[1]));
      ops_.divisor = {!contains(range, 0), !contains(range, 0xffffffff)};
      return ops_.apply(expr.op, arg(0), arg(1));
    }
#define UNARY(name, text, tag, types, signature, laws, meaning) case Operation::name:
#include "vyre/ir/ops.def"
      return ops_.apply(expr.op, arg(0), {});
    case Operation::Or:
    case Operation::And:
    case Operation::Eq:
    case Operation::Ne:
    case Operation::Lt:
    case Operation::Gt:
    case Operation::Le:
    case Operation::Ge:
    case Operation::BitOr:
    case Operation::BitXor:
    case Operation::BitAnd:
    case Operation::Shl:
    case Operation::Shr:
    case Operation::Add:
    case Operation::Sub:
    case Operation::Min:
    case Operation::Max:
    case Operation::AbsDiff:
    case Operation::AddSat:
    case Operation::SubSat:
    case Operation::RotateLeft:
    case Operation::RotateRight: return ops_.apply(expr.op, arg(0), arg(1));
  }
  return {};
}

PtxValue Emitter::product(ExprId id, const PtxValue& a, const PtxValue& b) {
  const Expr& expr = body_[id];
  const bool is_low = expr.op == Operation::Mul;
  const auto number = expr.args[0].index;
  const Known which = is_low ? Known::Low : Known::High;
  if (const Operand* found = known(which, number, expr.args[1])) {
    return {DataType::U32, false, {*found}};
  }
  const Operand x = ops_.whole(a).parts[0];
  const Operand y = ops_.whole(b).parts[0];
  const Operand whole = code_.wide("mul.wide", "u32", {x, y});
  const Operand low = code_.fresh(Kind::Word);
  const Operand high = code_.fresh(Kind::Word);
  code_.put("mov.b64 {", low, ", ", high, "}, ", whole);
  remember(Known::Low, number, expr.args[1], low);
  remember(Known::High, number, expr.args[1], high);
  return {DataType::U32, false, {is_low ? low : high}};
}

// --- Memory -------------------------------------------------------------------------------------

Operand* Emitter::known(Known what, std::uint32_t number, ExprId expr) {
  auto& table = known_in(what, number, expr).known;
  const auto found = table.find(key(what, number, expr));
  return found == table.end() ? nullptr : &found->second;
}

void Emitter::remember(Known what, std::uint32_t number, ExprId expr, const Operand& value) {
  if (!is_stable(expr)) return;
  Copy& copy = known_in(what, number, expr);
  kept_.push_back({&copy, key(what, number, expr)});
  copy.known[kept_.back().second] = value;
}

PtxPlace Emitter::place(StmtId stmt, ExprId load, ExprId index) const {
  const CheckedAccess* access = bounds_.find(stmt, load);
  if (access == nullptr) return {true, index, 0};
  return places_.all[static_cast<std::size_t>(access - bounds_.accesses.data())];
}

PtxAddress Emitter::address(BufferId buffer, ExprId base, std::int64_t offset) {
  const BufferDecl& decl = program_.buffers[buffer.index];
  const bool gathers = memory_[buffer.index].bins.exists();
  const Operand begin = gathers ? memory_[buffer.index].bins : memory_[buffer.index].address;
  std::int64_t bytes = offset * stride(decl.element);
  if (copies_.differs(buffer)) bytes += std::int64_t{memory_[buffer.index].shared_step} * number();
  if (!base.exists()) return {begin, bytes};
  if (const Operand* found = known(Known::Address, buffer.index, base)) return {*found, bytes};
  const Operand index = ops_.whole(value(base)).parts[0];
  const Operand shift = literal(log2_stride(decl));
  Operand sum;
  if (is_workgroup(decl) || gathers) {
    const Operand scaled = code_.word("shl", "b32", {index, shift});
    sum = code_.word("add", "u32", {begin, scaled});
  } else {
    const Operand* found = known(Known::Scaled, log2_stride(decl), base);
    Operand scaled;
    if (found != nullptr) {
      scaled = *found;
    } else {
      scaled = code_.wide("shl", "b64", {code_.wide("cvt.u64", "u32", {index}), shift});
      remember(Known::Scaled, log2_stride(decl), base, scaled);
    }
    sum = code_.wide("add", "u64", {begin, scaled});
  }
  remember(Known::Address, buffer.index, base, sum);
  return {sum, bytes};
}

Operand Emitter::in_bounds(BufferId buffer, ExprId index) {
  if (const Operand* found = known(Known::Check, buffer.index, index)) return *found;
  const Operand number = ops_.whole(value(index)).parts[0];
  const Operand inside = code_.predicate("setp.lt", "u32", {number, memory_[buffer.index].length});
  remember(Known::Check, buffer.index, index, inside);
  return inside;
}

// What has to hold for an access to happen, if anything.
Operand Emitter::runs(bool checked, BufferId buffer, ExprId index) {
  // A copy that has no workgroup does no harm where one that has goes too.
  const bool is_own = is_workgroup(program_.buffers[buffer.index]) && now_->conditions.empty() &&
                      !copies_.differs(index);
  const Operand runs = is_own ? Operand{} : now_->runs.back();
  return checked ? both(runs, in_bounds(buffer, index)) : runs;
}

Operand Emitter::both(const Operand& a, const Operand& b) {
  if (!a.exists() || !b.exists()) return a.exists() ? a : b;
  return code_.predicate("and", "pred", {a, b});
}

// What the registers of a loaded element hold.
PtxValue Emitter::value_of(DataType element, std::span<const Operand> parts) {
  PtxValue value{loaded_type(element), false, {}};
  std::ranges::copy(parts, value.parts.begin());
  if (value.type != DataType::Bool) return value;
  return {DataType::Bool, true, {code_.predicate("setp.ne", "u32", {parts[0], literal(0)})}};
}

PtxValue Emitter::load(ExprId id) {
  const Expr& expr = body_[id];
  Copy* const caller = now_;
  now_ = &copy_of(id);
  const PtxValue loaded = load_here(id, expr);
  now_ = caller;
  return loaded;
}

PtxValue Emitter::load_here(ExprId id, const Expr& expr) {
  const BufferId from{expr.imm};
  const BufferDecl& buffer = program_.buffers[expr.imm];
  const std::uint32_t parts = ptx_parts(loaded_type(buffer.element));
  const Kind kind = ptx_kind(buffer.element);
  const PtxPlace at = place(at_, id, expr.args[0]);
  if (at.pack != PtxPlace::kNoPack) {
    const PtxPack& pack = places_.packs[at.pack];
    std::vector<Operand>& all = now_->loaded[at.pack];
    if (all.empty()) {
      const PtxAddress begin = address(from, pack.base, pack.offset);
      for (std::uint32_t i = 0; i < pack.width * parts; ++i) all.push_back(code_.fresh(kind));
      put_load(buffer, runs(false, from, expr.args[0]), begin, all);
    }
    return value_of(buffer.element, std::span(all).subspan(std::size_t{at.lane} * parts, parts));
  }
  const Operand condition = runs(at.checked, from, expr.args[0]);
  const PtxAddress begin = address(from, at.base, at.offset);
  std::vector<Operand> to;
  if (parts == 1 && !condition.exists()) {
    to.push_back(code_.define(
        kind, std::string(space(buffer, true)) + (kind == Kind::Wide ? ".u64" : ".u32"), ", ",
        begin));
    return value_of(buffer.element, to);
  }
  for (std::uint32_t i = 0; i < parts; ++i) to.push_back(code_.fresh(kind));
  put_load(buffer, condition, begin, to);
  return value_of(buffer.element, to);
}

// Nobody writes what is only read, so that loads of it may move.
std::string_view Emitter::space(const BufferDecl& buffer, bool loads) const {
  if (is_workgroup(buffer)) return loads ? "ld.shared" : "st.shared";
  if (!loads) return "st.global";
  return is_written(buffer.access) ? "ld.global" : "ld.global.nc";
}

void Emitter::put_load(const BufferDecl& buffer, const Operand& condition, const PtxAddress& from,
                       std::span<const Operand> to) {
  // Also where nobody looks at what was not loaded: a register without a value may be anything, and
  // ptxas took it for what is loaded from there under another condition. ptxas joins tests of a
  // zero that it knows wrongly (docs/backends/cuda.md), so this one is loaded.
  if (condition.exists()) {
    for (const Operand& part : to) {
      const bool is_wide = part.kind == Kind::Wide;
      code_.put(is_wide ? "ld.const.u64 " : "ld.const.u32 ", part, ", [_zero]");
    }
  }
  code_.put_if(condition, space(buffer, true), width_of(to.size()), element_of(buffer), to, ", ",
               from);
}

void Emitter::put_store(const BufferDecl& buffer, const Operand& condition, const PtxAddress& to,
                        std::vector<Operand> from) {
  for (Operand& part : from) part = code_.in_register(part, ptx_kind(buffer.element));
  code_.put_if(condition, space(buffer, false), width_of(from.size()), element_of(buffer), to, ", ",
               std::span<const Operand>(from));
}

}  // namespace

Result<PtxKernel> emit_ptx(const Program& program, const Bounds& bounds, std::string_view entry,
                           const PtxLines& lines) {
  const PtxCopies copies = find_copies(program);
  Result<PtxShape> shape = ptx_shape(program, copies);
  if (!shape) return shape.diagnostics();
  const std::vector<PtxBins> bins = find_bins(program, bounds);
  if (!bins.empty()) {
    shape->steps = kPtxSteps;
    shape->groups *= kPtxSteps;
  }
  std::uint64_t shared = 0;
  for (const BufferDecl& buffer : program.buffers) {
    if (is_workgroup(buffer)) shared += shared_bytes(buffer);
  }
  if (shared > kPtxMaxShared) {
    return diagnose<message::large_workgroup_memory>(program.name, shared, "a GPU", kPtxMaxShared);
  }
  return Emitter(program, bounds, copies, *shape, bins, lines).emit(entry);
}

PtxLines ptx_lines(const Program& optimised, const Program& source,
                   const std::vector<std::uint32_t>& source_lines) {
  if (source_lines.size() != source.body.stmts.size()) return {};
  // What a statement writes: a local, by its name, a buffer, or nothing that could be told.
  const auto written = [](const Program& program, const Stmt& stmt) -> std::string {
    const auto local = [&](LocalId id) { return "$" + program.body[id].name; };
    if (const Let* let = std::get_if<Let>(&stmt)) return local(let->local);
    if (const Assign* assign = std::get_if<Assign>(&stmt)) return local(assign->local);
    if (const For* loop = std::get_if<For>(&stmt)) return local(loop->variable);
    if (const Store* store = std::get_if<Store>(&stmt)) {
      return program.buffers[store->buffer.index].name;
    }
    if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
      return program.buffers[atomic->buffer.index].name;
    }
    return std::holds_alternative<Barrier>(stmt) ? "barrier" : "";
  };
  std::unordered_map<std::string, std::vector<std::uint32_t>> places;
  for (std::size_t i = 0; i < source.body.stmts.size(); ++i) {
    places[written(source, source.body.stmts[i])].push_back(source_lines[i]);
  }
  std::unordered_map<std::string, std::uint32_t> counts;
  for (const Stmt& stmt : optimised.body.stmts) ++counts[written(optimised, stmt)];
  // The only one that writes it, or the one that has the same place among as many.
  PtxLines lines;
  std::unordered_map<std::string, std::uint32_t> next;
  for (const Stmt& stmt : optimised.body.stmts) {
    const std::string what = written(optimised, stmt);
    const auto found = what.empty() ? places.end() : places.find(what);
    const std::uint32_t number = next[what]++;
    if (found == places.end()) {
      lines.push_back(0);
    } else if (found->second.size() == 1) {
      lines.push_back(found->second[0]);
    } else {
      lines.push_back(found->second.size() == counts[what] ? found->second[number] : 0);
    }
  }
  return lines;
}

Program finish_ptx(const Program& program) {
  std::vector<const Pass*> passes;
  for (const std::string_view name : {"partly", "decide", "strength", "dead_code"}) {
    passes.push_back(find_pass(name));
  }
  Result<Program> finished = optimise(Linked{program, {}}, passes);
  return finished ? std::move(*finished) : program;
}

Result<PtxKernel> compile_ptx(const Linked& linked, std::string_view entry) {
  const Result<Program> program = optimise(linked);
  if (!program) return program.diagnostics();
  const Variant variant = general_variant(*program, finish_ptx);
  return emit_ptx(variant.program, variant.bounds, entry,
                  ptx_lines(variant.program, linked.program, linked.source.lines));
}

}  // namespace vyre
