#include "vyre/passes/lower.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/ir/run.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/passes/collectives.h"
#include "vyre/passes/draft.h"
#include "vyre/passes/inline.h"
#include "vyre/passes/pass.h"
#include "vyre/text/parse.h"

namespace vyre {

// --- The table ----------------------------------------------------------------------------------

DataType half_of(DataType type) {
  if (type == DataType::U64) return DataType::U32;
  return type == DataType::U128 ? DataType::U64 : DataType::Unknown;
}

DataType words_of(DataType type) {
  if (type == DataType::U64) return DataType::Vec2U32;
  return type == DataType::U128 ? DataType::Vec4U32 : DataType::Unknown;
}

namespace {

constexpr CapabilityInfo kCapabilities[] = {
#define CAPABILITY(name, meaning) {#name, meaning, &Capabilities::name},
#include "vyre/passes/lower.def"
};

// As the rows are written.
struct Written {
  bool Capabilities::* capability;
  Operation op;
  TypeSet types;
  DataType target;  // of a cast
  bool on_halves;
  std::string_view low;
  std::string_view high;
};

std::vector<Written> written_rows() {
  using enum DataType;
  using namespace type_sets;
  return {
#define FORMULA(capability, operation, types, text) \
  {&Capabilities::capability, Operation::operation, types, Unknown, false, text, ""},
#define HALVES(capability, operation, low, high)                                       \
  {&Capabilities::u64, Operation::operation, type_set(U64), Unknown, true, low, high}, \
      {&Capabilities::capability, Operation::operation, type_set(U128), Unknown, true, low, high},
#define CAST(capability, sources, target, low, high) \
  {&Capabilities::capability, Operation::Cast, sources, target, true, low, high},
#include "vyre/passes/lower.def"
  };
}

// The text with the words that the head of lower.def explains replaced, where words have
// `word_bits` bits.
std::string filled(std::string_view text, DataType type, unsigned word_bits) {
  const unsigned width = info(type).width / 32 * word_bits;
  const std::string own(vyre::text(type));
  const std::string count(vyre::text(second_operand(Operation::Shl, type)));
  const std::string half = std::to_string(width / 2);
  const std::pair<std::string_view, std::string> words[] = {
      {"T", own},
      {"H", std::string(vyre::text(half_of(type)))},
      {"N", count},
      {"half", half},
      {"mask", "(~" + own + "(0) >> " + count + "(" + half + "))"},
      {"last", std::to_string(width / 2 - 1)},
  };
  std::string out;
  while (!text.empty()) {
    std::size_t size = 0;
    while (size < text.size() && is_name_char(text[size])) ++size;
    const std::string_view word = text.substr(0, std::max<std::size_t>(size, 1));
    const auto found = std::ranges::find(words, word, [](const auto& each) { return each.first; });
    out += found != std::end(words) ? found->second : word;
    text.remove_prefix(word.size());
  }
  return out;
}

// The type whose halves a row is about.
DataType wide_of(const Written& row, DataType type) {
  if (!row.on_halves) return DataType::Unknown;
  const DataType wide =
      row.target == DataType::U128 || half_of(type) == DataType::Unknown ? row.target : type;
  return half_of(wide) == DataType::Unknown ? DataType::Unknown : wide;
}

std::shared_ptr<const Op> read_op(const Written& row, DataType type, std::string_view part,
                                  std::string_view text, unsigned word_bits) {
  if (text.empty()) return nullptr;
  const bool is_cast = row.op == Operation::Cast;
  const DataType wide = wide_of(row, type);
  std::vector<std::string> parameters;
  const auto add = [&](const std::string& name, DataType of) {
    parameters.push_back(name + ": " + std::string(vyre::text(of)));
  };
  const auto add_operand = [&](const std::string& name, DataType of) {
    if (of != wide) return add(name, of);
    add(name + "l", half_of(of));
    add(name + "h", half_of(of));
  };
  add_operand("a", type);
  if (!is_cast && info(row.op).arity == 2) {
    const bool counts = row.on_halves && info(row.op).signature == Signature::Shift;
    add_operand(counts ? "n" : "b", second_operand(row.op, type));
  }
  const DataType whole = is_cast ? row.target : result_of(row.op, type);
  const DataType result = whole == wide ? half_of(wide) : whole;
  const std::string body = text[0] == '{' ? std::string(text.substr(1, text.size() - 2))
                                          : "\n  return " + std::string(text) + "\n";
  std::string name(is_cast ? vyre::text(row.target) : info(row.op).name);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::string op = "op lower." + std::string(vyre::text(type)) + "." + name + "." +
                         std::string(part) + "(" + join(parameters, ", ") + ") -> " +
                         std::string(vyre::text(result)) + " {\n  \"a row of lower.def\"\n" +
                         filled(body, type, word_bits) + "}\n";
  Result<Module> module = parse(op, "lower.def");
  assert(module.ok());  // the tests parse and validate all of them
  if (!module.ok()) return nullptr;
  return std::make_shared<const Op>(std::get<Op>(std::move(module->items[0])));
}

// The row for an operation, of a cast to `target`; null where the target has it.
const LowerRow* find_row(Operation op, DataType type, DataType target, const Capabilities& has) {
  static const auto index = [] {
    std::map<std::tuple<Operation, DataType, DataType>, std::vector<const LowerRow*>> rows;
    for (const LowerRow& row : all_lower_rows()) {
      rows[{row.op, row.type, row.target}].push_back(&row);
    }
    return rows;
  }();
  const auto found = index.find({op, type, target});
  if (found == index.end()) return nullptr;
  const auto lacks = [&](DataType t) {
    return (t == DataType::U64 && !has.u64) || (t == DataType::U128 && !has.u128);
  };
  const bool lacks_type = lacks(type) || lacks(target);
  for (const LowerRow* row : found->second) {
    if (lacks_type || !(has.*row->capability)) return row;
  }
  return nullptr;
}

const LowerRow* find_row(const Body& body, const Types& types, const Expr& expr,
                         const Capabilities& has) {
  const std::span<const ExprId> args = operands(body, expr);
  if (expr.op == Operation::Cast) {
    return find_row(expr.op, types[args[0]], type_of_detail(expr), has);
  }
  return is_form(expr.op) ? nullptr : find_row(expr.op, types[args[0]], DataType::Unknown, has);
}

bool is_straight(const Op& op) { return op.body.stmts.size() == 1; }

// --- Rewriting ----------------------------------------------------------------------------------

// A new body, with calls of rows.
class Rewriter {
 public:
  explicit Rewriter(const Program& program)
      : program_(program),
        types_(types_of(program.body, program.buffers, {}, {})),
        make_(out_, expected_exprs(program.body)) {}

  const Body& from() const { return program_.body; }

 protected:
  ExprId call(const std::shared_ptr<const Op>& op, std::span<const ExprId> args) {
    ops_.try_emplace(op->id, op);
    return make_.call(op->id, args);
  }
  ExprId cast(DataType to, ExprId value) {
    return make_.make(Operation::Cast, static_cast<std::uint8_t>(to), 0, {&value, 1});
  }
  ExprId same(const Expr& expr, std::span<const ExprId> args) {
    if (expr.op == Operation::Literal) {
      return make_.literal(type_of_detail(expr), literal_bits(from(), expr));
    }
    return make_.make(expr.op, expr.detail, expr.imm, args);
  }
  Program finish(std::vector<BufferDecl> buffers) {
    Program program{program_.name, program_.workgroup_size, std::move(buffers), {}};
    program.body = out_.callees.empty() ? canonical(out_, 0, true) : std::move(out_);
    Linked::Ops ops;
    for (const auto& [id, op] : ops_) ops.push_back(op);
    return expand_calls(Linked::trust(std::move(program), std::move(ops)));
  }

  const Program& program_;
  const Types types_;
  Body out_;
  Interner make_;

 private:
  std::map<std::string, std::shared_ptr<const Op>> ops_;
};

// Operations on types that the target has; `wants` chooses among their rows.
class Operations : Rewriter {
 public:
  using Rewriter::Rewriter;

  template <class Wants>
  std::optional<Program> run(const Capabilities& has, Wants wants) {
    const Body& body = from();
    const auto row_of = [&](const Expr& expr) {
      const LowerRow* row = find_row(body, types_, expr, has);
      return row != nullptr && wants(*row) ? row : nullptr;
    };
    if (std::ranges::none_of(body.exprs, row_of)) return std::nullopt;
    std::vector<ExprId> made;
    made.reserve(body.exprs.size());
    std::vector<ExprId> args;
    for (const Expr& expr : body.exprs) {
      args.clear();
      for (const ExprId arg : operands(body, expr)) args.push_back(made[arg.index]);
      const LowerRow* row = row_of(expr);
      made.push_back(row != nullptr ? apply(*row, args) : same(expr, args));
    }
    out_.locals = body.locals;
    out_.stmts = body.stmts;
    for (Stmt& stmt : out_.stmts) {
      for_each_root(stmt, [&](ExprId& root) {
        if (root.exists()) root = made[root.index];
      });
    }
    return finish(program_.buffers);
  }

 private:
  ExprId apply(const LowerRow& row, std::span<const ExprId> args) {
    if (row.wide == DataType::Unknown) return call(row.low, args);
    const DataType half = half_of(row.wide);
    const ExprId width = make_.literal(DataType::U32, {{info(half).width}});
    std::vector<ExprId> halves;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if ((i == 0 ? row.type : second_operand(row.op, row.type)) != row.wide) {
        halves.push_back(args[i]);
        continue;
      }
      const auto known = joined_.find(args[i].index);
      if (known != joined_.end()) {
        halves.insert(halves.end(), {known->second.first, known->second.second});
        continue;
      }
      halves.push_back(cast(half, args[i]));
      halves.push_back(cast(half, make_.make(Operation::Shr, 0, 0, std::array{args[i], width})));
    }
    const ExprId low = call(row.low, halves);
    if (row.high == nullptr) return low;
    const ExprId high = call(row.high, halves);
    const ExprId moved = make_.make(Operation::Shl, 0, 0, std::array{cast(row.wide, high), width});
    const ExprId whole = make_.make(Operation::BitOr, 0, 0, std::array{moved, cast(row.wide, low)});
    joined_[whole.index] = {low, high};
    return whole;
  }

  std::map<std::uint32_t, std::pair<ExprId, ExprId>> joined_;  // what values are put together of
};

// Replaces the values of one type by their halves.
class Splitter : Rewriter {
 public:
  Splitter(const Program& program, DataType wide)
      : Rewriter(program),
        wide_(wide),
        half_(half_of(wide)),
        made_(program.body.exprs.size()),
        mentions_(program.body),
        locals_(program.body.locals.size()) {
    (wide == DataType::U64 ? lacks_.u64 : lacks_.u128) = false;
  }

  Program run() {
    const Body& body = from();
    std::vector<BufferDecl> buffers = program_.buffers;
    for (BufferDecl& buffer : buffers) {
      if (buffer.element == wide_) buffer.element = words_of(wide_);
    }
    std::vector<StmtId> begins;
    for (StmtId id{0u}; id.index < body.stmts.size(); ++id.index) {
      begins.push_back(here());
      statement(id);
    }
    begins.push_back(here());
    const auto moved = [&](StmtId& id) { id = begins[id.index]; };
    for (Stmt& stmt : out_.stmts) {
      std::visit(
          [&](auto& s) {
            if constexpr (requires { s.else_begin; }) moved(s.else_begin);
            if constexpr (requires { s.end; }) moved(s.end);
          },
          stmt);
    }
    Program program = finish(std::move(buffers));
    name_apart(program);
    return program;
  }

 private:
  // What an expression has become, or a local: one, or two halves.
  struct Value {
    ExprId low;  // or all of it
    ExprId high;
  };
  struct Pair {
    LocalId low;
    LocalId high;
  };

  StmtId here() const { return StmtId{out_.stmts.size()}; }
  bool is_wide(ExprId id) const { return types_[id] == wide_; }
  ExprId local(LocalId id) { return make_.local(id); }

  LocalId declare(std::string_view name, std::string_view ending) {
    const std::string_view kept = name.substr(0, kMaxNameBytes - ending.size());
    out_.locals.push_back({std::string(kept) + std::string(ending)});
    return LocalId{out_.locals.size() - 1};
  }
  const Pair& pair_of(LocalId id) {
    Pair& pair = locals_[id.index];
    if (pair.low.exists()) return pair;
    const std::string& name = from()[id].name;
    const bool splits = types_[id] == wide_;
    pair.low = declare(name, splits ? "_low" : "");
    if (splits) pair.high = declare(name, "_high");
    return pair;
  }
  // In front of the statement.
  ExprId bound(std::string_view name, ExprId value) {
    const LocalId to = declare(name, "");
    out_.stmts.push_back(Let{to, value});
    return local(to);
  }

  // The expressions of a statement, operands first: those have smaller ids.
  std::vector<ExprId> reached(StmtId stmt) {
    std::vector<ExprId> order;
    mentions_.visit(stmt, [&](ExprId id) {
      order.push_back(id);
      return true;
    });
    std::ranges::sort(order);
    return order;
  }

  void statement(StmtId id) {
    const Stmt& source = from()[id];
    const std::vector<ExprId> order = reached(id);
    const Let* let = std::get_if<Let>(&source);
    const Assign* assign = std::get_if<Assign>(&source);
    const Collective* together = std::get_if<Collective>(&source);
    const bool splits = (let != nullptr && is_wide(let->value)) ||
                        (assign != nullptr && is_wide(assign->value)) ||
                        (together != nullptr && is_wide(together->value));
    // What becomes several statements loads once what others may write to.
    binds_ = splits || std::ranges::any_of(order, [&](ExprId at) {
               const LowerRow* row = find_row(from(), types_, from()[at], lacks_);
               return row != nullptr && !is_straight(*row->low);
             });
    for (const ExprId at : order) made_[at.index] = lowered(at);
    const auto value = [&](ExprId of) { return made_[of.index]; };
    if (splits && let != nullptr) {
      const auto [low, high] = value(let->value);
      const Pair pair = pair_of(let->local);
      out_.stmts.push_back(Let{pair.low, low});
      out_.stmts.push_back(Let{pair.high, high});
      return;
    }
    if (splits && together != nullptr) return collective(*together);
    if (splits) {
      // The high half may be made of the old low one.
      const auto [low, high] = value(assign->value);
      const Pair pair = pair_of(assign->local);
      const ExprId kept = bound(out_[pair.high].name, high);
      out_.stmts.push_back(Assign{pair.low, low});
      out_.stmts.push_back(Assign{pair.high, kept});
      return;
    }
    Stmt stmt = source;
    if (Store* store = std::get_if<Store>(&stmt); store != nullptr && is_wide(store->value)) {
      const auto [low, high] = value(store->value);
      const LowerRow& row = *find_row(Operation::Cast, wide_, words_of(wide_), lacks_);
      store->index = value(store->index).low;
      store->value = call(row.low, std::array{low, high});
    } else {
      for_each_root(stmt, [&](ExprId& root) {
        assert(!root.exists() || !is_wide(root));  // no other statement takes such a value
        if (root.exists()) root = value(root).low;
      });
    }
    if (LocalId* named = local_of(stmt); named != nullptr && named->exists()) {
      *named = pair_of(*named).low;
    }
    out_.stmts.push_back(stmt);
  }

  // Bits and whole values go in halves. Sums and orders are put together in steps of 1, 2, 4 …:
  // what an invocation has is combined with what the one so far before it has.
  void collective(const Collective& source) {
    const CollectiveInfo& row = info(source.op);
    const auto halves = [&](CollectiveOp op, const Value& of, ExprId invocation) {
      const auto half = [&](ExprId value) {
        const LocalId part = declare("part", "");
        out_.stmts.push_back(Collective{op, part, value, invocation});
        return local(part);
      };
      const ExprId low = half(of.low);
      return Value{low, half(of.high)};
    };
    Value value = made_[source.value.index];
    if (row.shape != CollectiveShape::Before && row.operation != Operation::Add &&
        row.operation != Operation::Min && row.operation != Operation::Max) {
      value = halves(source.op, value,
                     source.invocation.exists() ? made_[source.invocation.index].low : ExprId{});
    } else {
      value = in_steps(row, value, halves);
    }
    const Pair pair = pair_of(source.result);
    out_.stmts.push_back(Let{pair.low, value.low});
    out_.stmts.push_back(Let{pair.high, value.high});
  }
  Value in_steps(const CollectiveInfo& row, Value value, auto halves) {
    const auto number = [&](std::uint32_t n) { return make_.literal(DataType::U32, {{n}}); };
    const auto made = [&](Operation op, ExprId a, ExprId b) {
      return make_.make(op, 0, 0, std::array{a, b});
    };
    const auto chosen = [&](ExprId condition, const Value& yes, const Value& no) -> Value {
      const auto half = [&](ExprId a, ExprId b) {
        return bound("part", make_.make(Operation::Select, 0, 0, std::array{condition, a, b}));
      };
      const ExprId low = half(yes.low, no.low);
      return {low, half(yes.high, no.high)};
    };
    const auto& [x, y, z] = program_.workgroup_size;
    const auto local_id = [&](std::uint8_t axis) {
      return make_.make(Operation::LocalId, axis, 0, {});
    };
    ExprId rank = made(Operation::Add, made(Operation::Mul, local_id(2), number(y)), local_id(1));
    rank = bound("rank", made(Operation::Add, made(Operation::Mul, rank, number(x)), local_id(0)));
    const auto on_halves = [&](Operation op, const Value& a, const Value& b) {
      return applied(*find_row(op, wide_, DataType::Unknown, lacks_),
                     std::array{a.low, a.high, b.low, b.high});
    };
    const auto combined = [&](const Value& a, const Value& b) {
      if (row.operation == Operation::Add) return on_halves(Operation::Add, a, b);
      const bool least = row.operation == Operation::Min;
      return chosen(least ? on_halves(Operation::Lt, a, b).low : on_halves(Operation::Lt, b, a).low,
                    a, b);
    };
    const auto invocations = static_cast<std::uint32_t>(invocations_of(program_));
    for (std::uint32_t distance = 1; distance < invocations; distance *= 2) {
      const ExprId other = made(Operation::Sub, rank, number(distance));
      const Value before = halves(CollectiveOp::Shuffle, value, other);
      const Value both = combined(before, value);
      value = chosen(made(Operation::Lt, rank, number(distance)), value, both);
    }
    if (row.shape == CollectiveShape::All) {
      return halves(CollectiveOp::Broadcast, value, number(invocations - 1));
    }
    value = halves(CollectiveOp::Shuffle, value, made(Operation::Sub, rank, number(1)));
    if (row.operation != Operation::Min) return value;  // 0, as where there is none
    const ExprId greatest = number(0xffffffff);
    return chosen(made(Operation::Eq, rank, number(0)), {greatest, greatest}, value);
  }

  // A row for operands in halves.
  Value applied(const LowerRow& row, std::span<const ExprId> to) {
    const auto part = [&](const std::shared_ptr<const Op>& op) {
      const ExprId result = call(op, to);
      return is_straight(*op) ? result : bound("part", result);
    };
    const ExprId low = part(row.low);
    return {low, row.high != nullptr ? part(row.high) : ExprId{}};
  }

  Value lowered(ExprId id) {
    const Expr& expr = from()[id];
    const std::span<const ExprId> ids = operands(from(), expr);
    std::vector<ExprId> args;  // those that have halves twice
    for (const ExprId arg : ids) {
      args.push_back(made_[arg.index].low);
      if (is_wide(arg)) args.push_back(made_[arg.index].high);
    }
    if (const LowerRow* row = find_row(from(), types_, expr, lacks_)) return applied(*row, args);
    const bool wide = is_wide(id);
    if (expr.op == Operation::Local) {
      const Pair& pair = pair_of(LocalId{expr.imm});
      return {local(pair.low), wide ? local(pair.high) : ExprId{}};
    }
    if (expr.op == Operation::Load) {
      ExprId load = same(expr, args);
      if (binds_ && is_volatile(program_, expr)) load = bound("loaded", load);
      if (!wide) return {load, {}};
      return applied(*find_row(Operation::Cast, words_of(wide_), wide_, lacks_), std::array{load});
    }
    if (!wide) return {same(expr, args), {}};
    if (expr.op == Operation::Literal) {
      const Bits bits = literal_bits(from(), expr);
      Bits low;
      Bits high;
      const std::size_t words = info(half_).width / 32;
      std::copy_n(bits.lanes.begin(), words, low.lanes.begin());
      std::copy_n(bits.lanes.begin() + static_cast<std::ptrdiff_t>(words), words,
                  high.lanes.begin());
      return {make_.literal(half_, low), make_.literal(half_, high)};
    }
    if (expr.op == Operation::Select) {
      return {make_.make(expr.op, 0, 0, std::array{args[0], args[1], args[3]}),
              make_.make(expr.op, 0, 0, std::array{args[0], args[2], args[4]})};
    }
    return made_[ids[0].index];  // a cast to what it is
  }

  const DataType wide_;
  const DataType half_;
  Capabilities lacks_;
  std::vector<Value> made_;  // per expression of the program, for the current statement
  Mentions mentions_;
  std::vector<Pair> locals_;
  bool binds_ = false;
};

bool has_type(const Program& program, DataType type) {
  const Types types = types_of(program.body, program.buffers, {}, {});
  const auto is_of = [&](const BufferDecl& buffer) { return buffer.element == type; };
  return std::ranges::find(types.exprs, type) != types.exprs.end() ||
         std::ranges::any_of(program.buffers, is_of);
}

// Applies rows until none of them is wanted.
template <class Wants>
bool apply_rows(Program& program, const Capabilities& has, Wants wants) {
  bool any = false;
  while (std::optional<Program> next = Operations(program).run(has, wants)) {
    program = std::move(*next);
    any = true;
  }
  return any;
}

}  // namespace

std::span<const CapabilityInfo> all_capabilities() { return kCapabilities; }

const CapabilityInfo* find_capability(std::string_view name) {
  const auto found = std::ranges::find(kCapabilities, name, &CapabilityInfo::name);
  return found == std::end(kCapabilities) ? nullptr : found;
}

std::vector<LowerRow> read_lower_rows(unsigned word_bits) {
  std::vector<LowerRow> rows;
  for (const Written& row : written_rows()) {
    for (const TypeInfo& type : all_types()) {
      if (!contains(row.types, type.type)) continue;
      LowerRow made{row.capability, row.op, type.type, row.target, wide_of(row, type.type), {}, {}};
      made.low = read_op(row, type.type, row.high.empty() ? "all" : "low", row.low, word_bits);
      made.high = read_op(row, type.type, "high", row.high, word_bits);
      rows.push_back(std::move(made));
    }
  }
  return rows;
}

std::span<const LowerRow> all_lower_rows() {
  static const std::vector<LowerRow> rows = read_lower_rows(32);
  return rows;
}

Program replace_missing(const Program& program, const Capabilities& target) {
  Capabilities has = target;
  has.u128 = has.u128 && has.u64;
  if (has == Capabilities{}) return program;
  Program result =
      target.collectives ? program : without_collectives(program, target.uniform_loads);
  bool splits = false;
  for (const auto& [wide, is_there] :
       {std::pair(DataType::U128, has.u128), std::pair(DataType::U64, has.u64)}) {
    if (is_there || !has_type(result, wide)) continue;
    // First what is made of other operations on the type.
    apply_rows(result, has, [&](const LowerRow& row) {
      return row.type == wide && row.wide == DataType::Unknown;
    });
    result = Splitter(result, wide).run();
    splits = true;
  }
  if (splits) {
    // Halves that are constant, or wanted by nobody.
    const Pass* const passes[] = {find_pass("share")};
    result = optimise(std::move(result), passes);
  }
  if (apply_rows(result, has, [](const LowerRow&) { return true; })) {
    const Pass* const passes[] = {find_pass("fold")};
    result = optimise(std::move(result), passes);
  }
  return result;
}

}  // namespace vyre
