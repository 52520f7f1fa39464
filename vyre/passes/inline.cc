#include "vyre/passes/inline.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "vyre/base/counters.h"
#include "vyre/base/text.h"
#include "vyre/ir/intern.h"
#include "vyre/passes/draft.h"
#include "vyre/text/lexer.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

// Beyond these an argument is bound to a local: as many expressions more, and as many levels.
constexpr std::uint32_t kManyExprs = 1000;
constexpr std::uint32_t kManyLevels = 500;
// Up to this many branches that leave an op or a round early become nested ones; where there are
// more, it becomes a loop of one round, which they leave.
constexpr std::size_t kManyExits = 8;

// --- What is known about an op ------------------------------------------------------------------

// Statements of a block: the first one, and the one after the last.
struct Part {
  StmtId first;
  StmtId end;
};

// The blocks of a statement.
struct Blocks {
  std::array<Part, 2> all;
  std::size_t count = 0;
  const Part* begin() const { return all.data(); }
  const Part* end() const { return all.data() + count; }
};

Blocks blocks_of(const Body& body, StmtId id) {
  const StmtId inside{id.index + 1};
  return std::visit(
      [&](const auto& s) -> Blocks {
        if constexpr (requires { s.else_begin; }) {
          return {{Part{inside, s.else_begin}, Part{s.else_begin, s.end}}, 2};
        } else if constexpr (requires { s.end; }) {
          return {{Part{inside, s.end}}, 1};
        } else {
          return {};
        }
      },
      body[id]);
}

bool any_in(const Body& body, const Part& block, const std::vector<bool>& table) {
  for (StmtId id = block.first; id < block.end; id = next(body, id)) {
    if (table[id.index]) return true;
  }
  return false;
}

// How a region of a body is left before its end: an op by `return`, a round of a loop by
// `continue`. What follows comes into the branch that does not leave. Where both may go on, and
// where there are many, the region becomes a loop of one round.
struct Exits {
  std::vector<bool> has;     // per statement: it is or contains one, of the region that it is in
  std::vector<bool> leaves;  // per statement: every way through it ends the region
  std::vector<bool> once;  // per loop, whose round it is, and at last of the op: it becomes a loop

  bool leaves_in(const Body& body, const Part& block) const { return any_in(body, block, leaves); }
};

// What is inside a statement comes after it, so the last one is the first to look at.
void find_exits(const Body& body, bool of_op, Exits& exits) {
  const auto is_loop = [&](std::size_t i) { return std::holds_alternative<For>(body.stmts[i]); };
  const std::size_t count = body.stmts.size();
  exits.has.resize(count);
  exits.leaves.resize(count);
  for (StmtId id{count}; id.index-- > 0;) {
    const bool is_return = std::holds_alternative<Return>(body[id]);
    const bool is_continue = std::holds_alternative<Continue>(body[id]);
    const bool is_break = std::holds_alternative<Break>(body[id]);
    exits.has[id.index] = of_op ? is_return : is_continue;
    exits.leaves[id.index] = is_return || (!of_op && (is_continue || is_break));
    if (is_loop(id.index) && !of_op) continue;
    const Blocks blocks = blocks_of(body, id);
    const auto has = [&](const Part& block) { return any_in(body, block, exits.has); };
    const auto leaves = [&](const Part& block) { return exits.leaves_in(body, block); };
    if (std::ranges::any_of(blocks, has)) exits.has[id.index] = true;
    if (blocks.count > 0 && !is_loop(id.index) && std::ranges::all_of(blocks, leaves)) {
      exits.leaves[id.index] = true;
    }
  }
  std::vector<bool> follows(count);        // something does, in this block or one around
  std::vector<std::size_t> region(count);  // the loop around; `count` outside of loops
  std::vector<std::size_t> branches(count + 1);
  exits.once.resize(count + 1);
  const auto enter = [&](const Part& block, bool is_followed, std::size_t around) {
    for (StmtId id = block.first; id < block.end; id = next(body, id)) {
      follows[id.index] = is_followed || next(body, id) < block.end;
      region[id.index] = around;
    }
  };
  enter({StmtId{0u}, StmtId{count}}, false, count);
  for (std::size_t i = 0; i < count; ++i) {
    const Blocks blocks = blocks_of(body, StmtId{i});
    for (const Part& block : blocks) {
      enter(block, follows[i] && !is_loop(i), is_loop(i) ? i : region[i]);
    }
    if (!exits.has[i] || blocks.count == 0 || std::holds_alternative<Block>(body.stmts[i]))
      continue;
    const auto leaves = [&](const Part& block) { return exits.leaves_in(body, block); };
    const bool both_go_on = follows[i] && !is_loop(i) && std::ranges::none_of(blocks, leaves);
    if (++branches[region[i]] > kManyExits || both_go_on) exits.once[region[i]] = true;
  }
}

// Of any body.
struct Studied {
  std::vector<bool> assigned;   // per local: it gets another value later
  Exits rounds;                 // of its loops; nothing where none has a `continue`
  std::vector<DataType> types;  // per expression; only where the body lists elements of an array
};

struct Callee : Studied {
  const Op* op = nullptr;
  // Of an op of one expression, as written out.
  std::vector<std::uint32_t> uses{};  // per parameter
  std::uint32_t depth = 0;
  // Of any other.
  Exits returns{};
  bool in_loop = false;  // a loop contains a `return`

  const Body& body() const { return op->body; }
  bool nests() const { return !returns.once.back(); }
  bool is_expression() const { return op->body.stmts.size() == 1; }
  // Its only `return` is its last statement.
  bool is_straight() const {
    return std::ranges::count(returns.has, true) == 1 && returns.has.back() &&
           std::holds_alternative<Return>(op->body.stmts.back());
  }
};

using Find = std::function<const Op*(std::string_view)>;

Studied study(const Body& body, std::span<const BufferDecl> buffers,
              std::span<const DataType> inputs, const Find& find) {
  Studied studied{assigned_locals(body), {}, {}};
  const auto continues = [](const Stmt& stmt) { return std::holds_alternative<Continue>(stmt); };
  if (std::ranges::any_of(body.stmts, continues)) find_exits(body, false, studied.rounds);
  const auto lists = [](const Expr& expr) { return expr.op == Operation::Array; };
  if (std::ranges::none_of(body.exprs, lists)) return studied;
  std::vector<DataType> results;
  for (const std::string& id : body.callees) results.push_back(find(id)->signature.output);
  studied.types = types_of(body, buffers, inputs, results).exprs;
  return studied;
}

Callee study(const Op& op, const Find& find) {
  const Body& body = op.body;
  const std::size_t parameters = op.signature.inputs.size();
  Callee callee{study(body, {}, op.signature.inputs, find), &op};
  if (!callee.is_expression()) {
    find_exits(body, true, callee.returns);
    for (std::size_t i = 0; i < body.stmts.size(); ++i) {
      callee.in_loop |= callee.returns.has[i] && std::holds_alternative<For>(body.stmts[i]);
    }
    return callee;
  }
  std::vector<std::uint32_t> times(body.exprs.size());
  times[std::get<Return>(body.stmts[0]).value.index] = 1;
  callee.uses.resize(parameters);
  for (std::size_t i = body.exprs.size(); i-- > 0;) {
    const Expr& expr = body.exprs[i];
    if (expr.op == Operation::Local) callee.uses[expr.imm] = times[i];
    for (ExprId arg : operands(body, expr)) {
      times[arg.index] = std::min(kMaxExprs, times[arg.index] + times[i]);
    }
  }
  callee.depth = std::ranges::max(written_out(body).depths);
  return callee;
}

// --- Expansion ----------------------------------------------------------------------------------

// The names of the locals that an expansion makes start with "__call" and a number. This is the
// least number after all that a name already has.
constexpr std::string_view kPrefix = "__call";

std::uint32_t number_after(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  std::uint32_t number = 0;
  for (char c : name.substr(kPrefix.size())) {
    if (!is_digit(c) || number > kMaxExprs) break;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number + 1;
}

// While bodies are expanded, an array in memory is a Table with the number of a buffer.
class Inliner {
 public:
  // `limited`: the result has to be one that may be written.
  Inliner(std::string_view name, const Body& body, std::span<const BufferDecl> buffers, Find find,
          bool limited = true)
      : name_(name),
        body_(body),
        buffers_(buffers.begin(), buffers.end()),
        given_(buffers.size()),
        find_(std::move(find)),
        limited_(limited),
        interner_(out_, 2 * body.exprs.size()) {}

  // `kind` is what the body is of: "program" or "op".
  Result<Body> expand(std::string_view kind, std::span<const DataType> inputs) {
    const auto parameters = static_cast<std::uint32_t>(inputs.size());
    const Body& body = body_;
    for (const Local& own : body.locals) number_ = std::max(number_, number_after(own.name));
    for (const BufferDecl& buffer : buffers_) {
      number_ = std::max(number_, number_after(buffer.name));
    }
    const Studied studied = study(body, buffers_, inputs, find_);
    Frame frame(body, studied);
    out_.locals = body.locals;
    for (std::size_t i = 0; i < body.locals.size(); ++i) frame.locals[i] = local(LocalId{i});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_array(inputs[i])) frame.locals[i] = new_memory(frame, body.locals[i].name, inputs[i]);
    }
    statements(frame, {StmtId{0u}, StmtId{body.stmts.size()}});
    // The caller's own statements are as deep as `continue` makes them, which its author cannot
    // see.
    if (const std::optional<StmtId> deep = too_deep(out_);
        deep && !failure_ && sites_of_[deep->index] != 0) {
      site_ = sites_of_[deep->index];
      at_ = sites_[site_].at;
      fail(diagnose<message::inlined_nesting>(name_, chain()));
    }
    if (failure_) {
      failure_->path = std::string(kind) + " " + shorten(name_) + ": " + path_of(body, at_);
      failure_->statement = at_.index;
      return *failure_;
    }
    return canonical(out_, parameters, true);
  }
  // Those given, and then the memory of arrays and tables: of an op first that of its parameters.
  std::vector<BufferDecl> take_buffers() { return std::move(buffers_); }

 private:
  // A body that is being expanded: the caller's, or that of an op for one call.
  struct Frame {
    Frame(const Body& source, const Studied& facts)
        : body(source), studied(facts), locals(source.locals.size()), copies(source.exprs.size()) {}

    const Body& body;
    const Studied& studied;
    std::vector<ExprId> locals;  // what each is in the result
    struct Copy {
      ExprId expr;
      std::uint64_t statement = 0;  // for which it holds; 0: for all
    };
    std::vector<Copy> copies;

    // Of an op: where its result goes, and how its `return` leaves.
    const Callee* callee = nullptr;
    std::uint32_t number = 0;
    LocalId result;
    ExprId memory;  // or, where that is an array, the memory for it
    LocalId done;   // set where a `return` leaves a loop of the op
    struct Loop {
      StmtId once;   // the loop of one round that its round has become
      LocalId flag;  // set where a `break` leaves it, and not just that
    };
    std::vector<Loop> loops;                               // open ones of the body itself
    bool once = false;                                     // it is in a loop of one round
    std::unordered_map<std::string, std::uint32_t> names;  // how often each was wanted
  };

  // --- Making expressions and statements

  ExprId make(Operation op, std::uint8_t detail, std::uint32_t imm, std::span<const ExprId> args) {
    return note(interner_.make(op, detail, imm, args));
  }
  ExprId local(LocalId id) { return note(interner_.local(id)); }
  ExprId literal(DataType type, const Bits& bits) { return note(interner_.literal(type, bits)); }

  // Keeps the tables beside the expressions up to date.
  ExprId note(ExprId id) {
    for (std::size_t i = sizes_.size(); i < out_.exprs.size(); ++i) {
      std::uint32_t size = 1;
      std::uint32_t depth = 0;
      const Expr& expr = out_.exprs[i];
      bool varies = expr.op == Operation::Load && is_written(buffers_[expr.imm].access);
      for (ExprId arg : operands(out_, expr)) {
        size = std::min(kMaxExprs + 1, size + sizes_[arg.index]);
        depth = std::max(depth, depths_[arg.index]);
        varies = varies || varies_[arg.index];
      }
      if (size > kMaxExprs) fail(diagnose<message::inlined_expressions>(name_, chain()));
      sizes_.push_back(size);
      depths_.push_back(depth + 1);
      varies_.push_back(varies);
    }
    return id;
  }

  ExprId zero_of(DataType type) { return note(interner_.zero(type)); }

  StmtId here() const { return StmtId{out_.stmts.size()}; }

  void add(const Stmt& stmt) {
    if (failure_) return;
    for (ExprId root : roots(stmt)) {
      written_ += sizes_[root.index];
      if (written_ > kMaxExprs) fail(diagnose<message::inlined_expressions>(name_, chain()));
      if (depths_[root.index] > kMaxExprDepth) {
        fail(diagnose<message::inlined_depth>(name_, chain(), depths_[root.index]));
      }
    }
    if (out_.stmts.size() >= kMaxStmts) fail(diagnose<message::inlined_statements>(name_, chain()));
    if (failure_) return;
    out_.stmts.push_back(stmt);
    sites_of_.push_back(site_);
  }

  // A local of an op, under a name that its body does not have twice.
  LocalId declare(Frame& frame, std::string_view wanted) {
    out_.locals.push_back({declared_name(frame, wanted)});
    return LocalId{out_.locals.size() - 1};
  }
  std::string declared_name(Frame& frame, std::string_view wanted) {
    if (frame.names.empty()) frame.number = number_++;
    constexpr std::size_t kRoom = 64;  // for prefix and numbers
    const std::string name(wanted.substr(0, kMaxNameBytes - kRoom));
    std::string fresh = name;
    while (!frame.names.try_emplace(fresh, 1).second) {
      fresh = name + "_" + std::to_string(++frame.names[name]);
    }
    return std::string(kPrefix) + std::to_string(frame.number) + "_" + fresh;
  }

  void fail(Diagnostic diagnostic) {
    if (failure_ || !limited_) return;
    failure_ = std::move(diagnostic);
  }
  // The calls that lead to the current one, or where none is open to the last one.
  std::string chain() const {
    std::vector<std::string> ids;
    for (std::uint32_t s = site_ != 0 ? site_ : last_site_; s != 0; s = sites_[s].parent) {
      ids.push_back(shorten(sites_[s].op->id));
    }
    std::ranges::reverse(ids);
    return shorten(join(ids, " → "), 400);
  }

  // --- Expressions

  // The copy of an expression of the frame's body. What its calls need comes first.
  ExprId copy(Frame& frame, ExprId root) {
    const auto done = [&](ExprId id) {
      const Frame::Copy& copy = frame.copies[id.index];
      return copy.expr.exists() && (copy.statement == 0 || copy.statement == statement_);
    };
    // A call inside copies too, with room of its own.
    std::vector<Visit> stack = std::exchange(visits_, {});
    std::vector<ExprId> args = std::exchange(args_, {});
    const auto is_known = [&](ExprId id) { return failure_ || done(id); };
    operands_first(frame.body, root, stack, is_known, [&](ExprId id, auto ids) {
      if (failure_) return;
      args.clear();
      std::uint64_t holds = 0;
      for (ExprId arg : ids) {
        args.push_back(frame.copies[arg.index].expr);
        holds = std::max(holds, frame.copies[arg.index].statement);
      }
      const std::size_t before = bound_;
      const ExprId made = copy_one(frame, frame.body[id], args);
      if (bound_ != before) holds = statement_;
      frame.copies[id.index] = {made, holds};
    });
    visits_ = std::move(stack);
    args_ = std::move(args);
    return failure_ ? ExprId{0u} : frame.copies[root.index].expr;
  }

  ExprId copy_one(Frame& frame, const Expr& expr, std::vector<ExprId>& args) {
    if (expr.op == Operation::Literal) {
      return literal(type_of_detail(expr), literal_bits(frame.body, expr));
    }
    if (expr.op == Operation::Local) return frame.locals[expr.imm];
    if (expr.op == Operation::Call) return call(frame.body.callees[expr.imm], args);
    if (expr.op == Operation::Table) return table(frame, frame.body.tables[expr.imm]);
    if (expr.op == Operation::Element) return element(frame, args[0], args[1]);
    if (expr.op == Operation::Count) {
      return literal(DataType::U32, {{element_count(type_of_array(args[0]))}});
    }
    if (expr.op == Operation::Array) {
      const DataType type = frame.studied.types[operands(frame.body, expr)[0].index];
      return make(expr.op, static_cast<std::uint8_t>(type), 0, args);
    }
    return make(expr.op, expr.detail, expr.imm, args);
  }

  // --- Arrays

  // Of an array of the result: memory, a list of elements, or zeros.
  DataType type_of_array(ExprId id) const {
    const Expr& expr = out_[id];
    if (expr.op == Operation::Zeros) return static_cast<DataType>(expr.imm);
    if (expr.op == Operation::Array) {
      return array_type(static_cast<DataType>(expr.detail), expr.args[1].index);
    }
    const BufferDecl& memory = buffers_[expr.imm];
    return array_type(loaded_type(memory.element), memory.count);
  }
  static bool is_array_form(const Expr& expr) {
    return expr.op == Operation::Table || expr.op == Operation::Array ||
           expr.op == Operation::Zeros;
  }
  bool is_memory(ExprId id) const { return out_[id].op == Operation::Table; }

  ExprId add_memory(BufferDecl decl) {
    buffers_.push_back(std::move(decl));
    is_fixed_.resize(buffers_.size());
    return make(Operation::Table, 0, static_cast<std::uint32_t>(buffers_.size() - 1), {});
  }

  ExprId new_memory(Frame& frame, std::string_view wanted, DataType type) {
    memory_bytes_ += std::uint64_t{element_count(type)} * stride(element_type(type));
    if (memory_bytes_ > kMaxArrayMemory || buffers_.size() >= kMaxBuffers) {
      fail(diagnose<message::inlined_arrays>(name_, chain()));
    }
    return add_memory({name_of_memory(frame, wanted), 0, BufferAccess::Private, element_type(type),
                       element_count(type)});
  }

  // Like the name of a local; in the caller's body it keeps its own, if no other thing has it.
  std::string name_of_memory(Frame& frame, std::string_view wanted) {
    if (frame.callee == nullptr && memory_names_.empty()) {
      for (const BufferDecl& buffer : buffers_) memory_names_.insert(buffer.name);
    }
    const auto same = [&](const Local& local) { return local.name == wanted; };
    if (frame.callee == nullptr && std::ranges::count_if(frame.body.locals, same) <= 1 &&
        memory_names_.insert(std::string(wanted)).second) {
      return std::string(wanted);
    }
    return declared_name(frame, wanted);
  }

  ExprId table(Frame& frame, const ConstTable& table) {
    for (std::size_t i = given_; i < buffers_.size(); ++i) {
      const BufferDecl& known = buffers_[i];
      if (known.access == BufferAccess::Constant && known.element == table.element &&
          known.contents == table.contents) {
        return make(Operation::Table, 0, static_cast<std::uint32_t>(i), {});
      }
    }
    return add_memory({name_of_memory(frame, table.name), 0, BufferAccess::Constant, table.element,
                       table.count(), table.contents});
  }

  ExprId element(Frame& frame, ExprId array, ExprId index) {
    const DataType type = type_of_array(array);
    const Expr list = out_[array];
    if (list.op == Operation::Zeros) return zero_of(element_type(type));
    if (list.op == Operation::Array && out_[index].op == Operation::Literal) {
      const std::uint32_t number = out_[index].imm;
      if (number >= element_count(type)) return zero_of(element_type(type));
      return operands(out_, list)[number];
    }
    if (list.op == Operation::Array) array = in_memory(frame, "list", array);
    return make(Operation::Load, 0, out_[array].imm, std::array{index});
  }

  // The array as memory, which is new unless it is some already.
  ExprId in_memory(Frame& frame, std::string_view wanted, ExprId array) {
    if (is_memory(array)) return array;
    const ExprId memory = new_memory(frame, wanted, type_of_array(array));
    fill(frame, memory, array, true);
    ++bound_;
    return memory;
  }

  // Gives all elements of memory new values. What is new has not been read by anything.
  void fill(Frame& frame, ExprId memory, ExprId array, bool is_new) {
    constexpr std::uint32_t kFew = 8;  // elements that take no loop
    const BufferId to{out_[memory].imm};
    const DataType type = type_of_array(memory);
    const std::uint32_t count = element_count(type);
    const auto number = [&](std::uint32_t i) { return literal(DataType::U32, {{i}}); };
    if (is_memory(array) && out_[array].imm == to.index) return;
    if (out_[array].op == Operation::Array) {
      std::vector<ExprId> elements(operands(out_, out_[array]).begin(),
                                   operands(out_, out_[array]).end());
      for (ExprId& element : elements) {
        element = settled(element);
        if (!is_new && varies_[element.index]) element = bind(declare(frame, "element"), element);
      }
      for (std::uint32_t i = 0; i < count; ++i) add(Store{to, number(i), settled(elements[i])});
      return;
    }
    const auto value_at = [&](ExprId index) {
      if (!is_memory(array)) return zero_of(element_type(type));
      return make(Operation::Load, 0, out_[array].imm, std::array{index});
    };
    if (count <= kFew) {
      for (std::uint32_t i = 0; i < count; ++i) add(Store{to, number(i), value_at(number(i))});
      return;
    }
    const LocalId variable = declare(frame, "element");
    const std::size_t loop = out_.stmts.size();
    add(For{variable, number(0), number(count), {}});
    add(Store{to, local(variable), value_at(local(variable))});
    if (!failure_) std::get<For>(out_.stmts[loop]).end = here();
  }

  // A `let` of an array. It takes memory over that nothing else has, and shares memory that never
  // changes; of anything else it gets a copy.
  void let_array(Frame& frame, LocalId own, ExprId array, std::size_t first_new) {
    const bool assigned = frame.studied.assigned[own.index];
    const std::uint32_t memory = out_[array].imm;
    ExprId& home = frame.locals[own.index];
    if (is_memory(array) && (memory >= first_new || (is_fixed_[memory] && !assigned)) &&
        buffers_[memory].access == BufferAccess::Private) {
      home = array;
    } else if (is_memory(array) && buffers_[memory].access == BufferAccess::Constant && !assigned) {
      home = array;
      return;
    } else {
      home = new_memory(frame, frame.body[own].name, type_of_array(array));
      fill(frame, home, array, true);
    }
    is_fixed_[out_[home].imm] = !assigned;
  }

  // The same with the expressions that this statement has bound to locals replaced by those.
  ExprId settled(ExprId root) {
    if (replaced_.empty()) return root;
    std::unordered_map<std::uint32_t, ExprId> copies;
    std::vector<Visit> stack;
    const auto is_known = [&](ExprId id) {
      const auto replaced = replaced_.find(id.index);
      if (replaced != replaced_.end()) {
        copies[id.index] = replaced->second;
      } else if (!varies_[id.index]) {
        copies[id.index] = id;
      }
      return copies.contains(id.index);
    };
    operands_first(out_, root, stack, is_known, [&](ExprId id, auto ids) {
      std::vector<ExprId> args;
      for (ExprId arg : ids) args.push_back(copies[arg.index]);
      const Expr expr = out_[id];
      copies[id.index] = make(expr.op, expr.detail, expr.imm, args);
    });
    return copies[root.index];
  }

  ExprId bind(LocalId to, ExprId value) {
    value = settled(value);
    add(Let{to, value});
    ++bound_;
    const ExprId bound = local(to);
    if (varies_[value.index]) replaced_[value.index] = bound;
    return bound;
  }

  const Callee& callee_of(const std::string& id) {
    const Op& op = *find_(id);
    const auto known = callees_.find(&op);
    if (known != callees_.end()) return known->second;
    return callees_.emplace(&op, study(op, find_)).first->second;
  }

  // The only recursion: a body has calls, whose bodies have calls. Calls nest at most kMaxCallDepth
  // deep (V017).
  ExprId call(const std::string& id, std::vector<ExprId> args) {
    const Callee& callee = callee_of(id);
    const std::uint32_t caller = site_;
    sites_.push_back({callee.op, caller, at_});
    site_ = last_site_ = static_cast<std::uint32_t>(sites_.size() - 1);
    const ExprId result = callee.is_expression() ? expression(callee, args) : body(callee, args);
    site_ = caller;
    return result;
  }

  // An op of one expression.
  ExprId expression(const Callee& callee, std::span<ExprId> args) {
    Frame frame(callee.body(), callee);
    frame.callee = &callee;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (is_array_form(out_[args[i]])) {
        if (callee.uses[i] > 1) args[i] = in_memory(frame, callee.body().locals[i].name, args[i]);
        frame.locals[i] = args[i];
        continue;
      }
      const std::uint64_t more = std::uint64_t{sizes_[args[i].index]} * (callee.uses[i] - 1);
      const bool many = callee.uses[i] > 1 && more > kManyExprs;
      const bool deep = depths_[args[i].index] > 1 && callee.uses[i] > 0 &&
                        depths_[args[i].index] + callee.depth > kManyLevels;
      if (many || deep) args[i] = bind(declare(frame, callee.body().locals[i].name), args[i]);
      frame.locals[i] = args[i];
    }
    return copy(frame, std::get<Return>(callee.body().stmts[0]).value);
  }

  // Gives a parameter of an op of several statements its argument.
  void pass(Frame& frame, std::size_t i, ExprId arg) {
    const Callee& callee = *frame.callee;
    const std::string& name = frame.body.locals[i].name;
    if (is_array_form(out_[arg])) {
      frame.locals[i] = arg;
      if (callee.assigned[i]) {
        frame.locals[i] = new_memory(frame, name, type_of_array(arg));
        fill(frame, frame.locals[i], arg, true);
      } else {
        frame.locals[i] = in_memory(frame, name, arg);
      }
      return;
    }
    // What cannot change on the way needs no local of its own.
    const Operation op = out_[arg].op;
    const bool fixed = op == Operation::Literal || op == Operation::Local;
    frame.locals[i] = arg;
    if (fixed && !callee.assigned[i]) return;
    const ExprId own = frame.locals[i] = bind(declare(frame, name), arg);
    if (!callee.assigned[i] || !varies_[arg.index]) return;
    // The local is the argument in the rest of the statement, so another one changes.
    const LocalId copy = declare(frame, name);
    add(Let{copy, own});
    frame.locals[i] = local(copy);
  }

  // An op of several statements; gives the expression that is its result.
  ExprId body(const Callee& callee, std::span<const ExprId> args) {
    const Body& source = callee.body();
    Frame frame(source, callee);
    frame.callee = &callee;
    for (std::size_t i = 0; i < args.size(); ++i) pass(frame, i, args[i]);
    ++bound_;  // what the result is made of holds for this statement alone

    const StmtId end{source.stmts.size()};
    const std::uint64_t statement = statement_;
    auto replaced = std::move(replaced_);
    ExprId result{0u};
    if (callee.is_straight()) {
      statements(frame, {StmtId{0u}, StmtId{end.index - 1}});
      begin_statement();
      result = copy(frame, std::get<Return>(source.stmts.back()).value);
    } else {
      const DataType output = callee.op->signature.output;
      if (is_array(output)) {
        frame.memory = new_memory(frame, "result", output);
      } else {
        frame.result = declare(frame, "result");
        add(Let{frame.result, zero_of(output)});
      }
      if (callee.in_loop) {
        frame.done = declare(frame, "done");
        add(Let{frame.done, literal(DataType::U32, {})});
      }
      frame.once = !callee.nests();
      const StmtId loop = frame.once ? begin_once(frame) : StmtId{};
      statements(frame, {StmtId{0u}, end});
      if (frame.once && !failure_) std::get<For>(out_.stmts[loop.index]).end = here();
      result = frame.memory.exists() ? frame.memory : local(frame.result);
    }
    statement_ = statement;
    replaced_ = std::move(replaced);
    return result;
  }

  // --- Statements

  // What is left to do, the next task last.
  struct Task {
    enum class Kind : std::uint8_t { Part, Else, End, Unless };
    Kind kind = Kind::Part;
    StmtId made = {};   // of Else and End: the statement whose `else` begins, or that ends
    StmtId owner = {};  // of End: what it was made from; none: it was made for an Unless
    Part part = {};     // statements of a block
    std::vector<Part> after = {};  // and those that come after it, the last one first
  };

  // Statements of the frame's body. A `return` of an op in a loop leaves that; where early exits
  // nest, the way that goes on takes with it what comes after.
  void statements(Frame& frame, const Part& all) {
    std::vector<Task> tasks;
    tasks.push_back({.part = all});
    while (!tasks.empty() && !failure_) {
      Task task = std::move(tasks.back());
      tasks.pop_back();
      switch (task.kind) {
        case Task::Kind::Part: part(frame, task, tasks); break;
        case Task::Kind::Else: std::get<If>(out_.stmts[task.made.index]).else_begin = here(); break;
        case Task::Kind::End: end(frame, task); break;
        case Task::Kind::Unless: {  // a loop has returned
          const StmtId made = here();
          add(If{test(Operation::Eq, frame.done), {}, {}});
          tasks.push_back({.kind = Task::Kind::End, .made = made});
          tasks.push_back({.kind = Task::Kind::Else, .made = made});
          tasks.push_back({.after = std::move(task.after)});
          break;
        }
      }
    }
  }

  void part(Frame& frame, Task& task, std::vector<Task>& tasks) {
    for (StmtId id = task.part.first; id < task.part.end && !failure_; ++id.index) {
      if (site_ == 0) at_ = id;
      const Stmt& stmt = frame.body[id];
      if (frame.callee != nullptr && std::holds_alternative<Return>(stmt)) {
        return leave(frame, std::get<Return>(stmt).value);
      }
      if (std::holds_alternative<Continue>(stmt)) {
        if (frame.loops.back().once.exists()) add(Break{});
        return;
      }
      if (std::holds_alternative<Break>(stmt)) {
        const LocalId flag = frame.loops.back().flag;
        if (flag.exists()) add(Assign{flag, literal(DataType::U32, {{1}})});
        return add(Break{});
      }
      const Blocks blocks = blocks_of(frame.body, id);
      if (blocks.count == 0) {
        statement(frame, stmt);
        continue;
      }
      const StmtId rest = next(frame.body, id);
      if (rest < task.part.end) task.after.push_back({rest, task.part.end});
      return open(frame, id, blocks, task.after, tasks);
    }
    if (task.after.empty()) return;
    const Part part = task.after.back();
    task.after.pop_back();
    tasks.push_back({.part = part, .after = std::move(task.after)});
  }

  // A statement with blocks, and what comes after it.
  void open(Frame& frame, StmtId id, const Blocks& blocks, std::vector<Part>& after,
            std::vector<Task>& tasks) {
    const Stmt& stmt = frame.body[id];
    const bool is_loop = std::holds_alternative<For>(stmt);
    const Exits& rounds = frame.studied.rounds;
    const bool continues = !is_loop && !rounds.has.empty() && rounds.has[id.index] &&
                           !frame.loops.back().once.exists();
    const bool returns = frame.callee != nullptr && frame.callee->nests() && frame.loops.empty() &&
                         frame.callee->returns.has[id.index];
    const bool nests = continues || returns;
    if (nests && std::holds_alternative<Block>(stmt)) {
      // Names are unique, so its scope is not needed.
      tasks.push_back({.part = blocks.all[0], .after = std::move(after)});
      return;
    }
    const StmtId made = statement(frame, stmt);
    const bool splits = nests && !is_loop;
    if (!splits && !after.empty()) {
      tasks.push_back({.kind = nests ? Task::Kind::Unless : Task::Kind::Part, .after = after});
    }
    tasks.push_back({.kind = Task::Kind::End, .made = made, .owner = id});
    for (std::size_t i = blocks.count; i-- > 0;) {
      tasks.push_back({.part = blocks.all[i]});
      const auto leaves = [&](const Exits& exits) {
        return exits.leaves_in(frame.body, blocks.all[i]);
      };
      if (splits && !leaves(continues ? rounds : frame.callee->returns)) tasks.back().after = after;
      if (i > 0) tasks.push_back({.kind = Task::Kind::Else, .made = made});
    }
    if (is_loop) begin_rounds(frame, id);
  }

  void begin_rounds(Frame& frame, StmtId loop) {
    frame.loops.emplace_back();
    const Exits& rounds = frame.studied.rounds;
    if (rounds.once.empty() || !rounds.once[loop.index]) return;
    if (has_break(frame.body, loop)) {
      const LocalId flag = frame.loops.back().flag = declare(frame, "broken");
      add(Let{flag, literal(DataType::U32, {})});
    }
    frame.loops.back().once = begin_once(frame);
  }

  // A loop of one round; it has no end yet.
  StmtId begin_once(Frame& frame) {
    const StmtId made = here();
    const ExprId one = literal(DataType::U32, {{1}});
    add(For{declare(frame, "once"), literal(DataType::U32, {}), one, {}});
    return made;
  }

  // Whether a loop is left by a `break` of its own.
  static bool has_break(const Body& body, StmtId loop) {
    for (StmtId id{loop.index + 1}; id < next(body, loop);) {
      if (std::holds_alternative<Break>(body[id])) return true;
      id = std::holds_alternative<For>(body[id]) ? next(body, id) : StmtId{id.index + 1};
    }
    return false;
  }

  void end(Frame& frame, const Task& task) {
    const bool is_loop = task.owner.exists() && std::holds_alternative<For>(frame.body[task.owner]);
    const bool returns =
        is_loop && frame.callee != nullptr && frame.callee->returns.has[task.owner.index];
    if (is_loop && frame.loops.back().once.exists()) {
      const Frame::Loop& loop = frame.loops.back();
      std::get<For>(out_.stmts[loop.once.index]).end = here();
      if (loop.flag.exists()) break_if(loop.flag);
      if (returns) break_if(frame.done);
    }
    std::visit(
        [&](auto& s) {
          if constexpr (requires { s.end; }) s.end = here();
        },
        out_.stmts[task.made.index]);
    if (!is_loop) return;
    frame.loops.pop_back();
    if (returns && breaks(frame)) break_if(frame.done);
  }

  void break_if(LocalId flag) {
    const StmtId end{here().index + 2};
    add(If{test(Operation::Ne, flag), end, end});
    add(Break{});
  }

  static bool breaks(const Frame& frame) { return frame.once || !frame.loops.empty(); }
  // Compares a flag with zero.
  ExprId test(Operation op, LocalId flag) {
    return make(op, 0, 0, std::array{local(flag), literal(DataType::U32, {})});
  }

  // A `return` of an op.
  void leave(Frame& frame, ExprId value) {
    begin_statement();
    const ExprId result = copy(frame, value);
    if (frame.memory.exists()) {
      fill(frame, frame.memory, result, true);
    } else {
      add(Assign{frame.result, settled(result)});
    }
    if (!frame.loops.empty()) add(Assign{frame.done, literal(DataType::U32, {{1}})});
    if (breaks(frame)) add(Break{});
  }

  // Expressions are evaluated anew.
  void begin_statement() {
    statement_ = ++statements_;
    replaced_.clear();
  }

  // What a statement does with an array. The elements of `first_new` and later memory came with it.
  bool put_array(Frame& frame, const Stmt& stmt, std::size_t first_new) {
    if (const Let* let = std::get_if<Let>(&stmt); let && is_array_form(out_[let->value])) {
      return let_array(frame, let->local, let->value, first_new), true;
    }
    if (const Assign* assign = std::get_if<Assign>(&stmt);
        assign != nullptr && is_array_form(out_[assign->value])) {
      return fill(frame, frame.locals[assign->local.index], assign->value, false), true;
    }
    if (const SetElement* set = std::get_if<SetElement>(&stmt)) {
      const BufferId memory{out_[frame.locals[set->local.index]].imm};
      return add(Store{memory, settled(set->index), settled(set->value)}), true;
    }
    return false;
  }

  // One statement, without what is in it.
  StmtId statement(Frame& frame, Stmt stmt) {
    begin_statement();
    const std::size_t first_new = buffers_.size();
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists() && !failure_) root = copy(frame, root);
    });
    if (failure_ || put_array(frame, stmt, first_new)) return here();
    for_each_root(stmt, [&](ExprId& root) {
      if (root.exists() && !failure_) root = settled(root);
    });
    if (failure_) return here();
    if (LocalId* named = local_of(stmt); named != nullptr && named->exists()) {
      ExprId& own = frame.locals[named->index];
      if (frame.callee != nullptr && declared(stmt).exists()) {
        own = local(declare(frame, frame.body[*named].name));
      }
      *named = LocalId{out_[own].imm};
    }
    add(stmt);
    return StmtId{here().index - 1};
  }

  const std::string_view name_;
  const Body& body_;
  std::vector<BufferDecl> buffers_;
  const std::size_t given_;     // of the buffers
  std::vector<bool> is_fixed_;  // per buffer: memory that does not change once it has its values
  std::set<std::string> memory_names_;
  std::uint64_t memory_bytes_ = 0;
  const Find find_;
  const bool limited_;
  std::unordered_map<const Op*, Callee> callees_;

  Body out_;
  Interner interner_;
  std::vector<Visit> visits_;  // room for walks
  std::vector<ExprId> args_;
  std::vector<std::uint32_t> sizes_;   // per expression of the result, as written out
  std::vector<std::uint32_t> depths_;  // and how deep it is
  std::vector<bool> varies_;           // and whether it loads what may be written meanwhile
  std::uint64_t written_ = 0;          // expressions of the result, as written out

  // The calls that were expanded, each with the one that it is in; 0 is the caller itself.
  struct Site {
    const Op* op;
    std::uint32_t parent;
    StmtId at;  // the caller's statement
  };
  std::vector<Site> sites_{{nullptr, 0, StmtId{0u}}};
  std::uint32_t site_ = 0;  // that is being expanded
  std::uint32_t last_site_ = 0;
  std::vector<std::uint32_t> sites_of_;  // per statement of the result
  StmtId at_{0u};                        // the caller's statement
  std::uint32_t number_ = 0;             // of the next call whose locals need names
  std::uint64_t statements_ = 0;
  std::uint64_t statement_ = 0;  // whose expressions are copied
  std::size_t bound_ = 0;        // how often something was put in front of a statement
  std::unordered_map<std::uint32_t, ExprId> replaced_;  // what this statement has bound to locals
  std::optional<Diagnostic> failure_;
};

// Whether a body has anything that is not in one without calls.
bool needs_expansion(const Body& body) {
  return !body.callees.empty() || std::ranges::any_of(body.exprs, [](const Expr& expr) {
    return is_written(expr.op);
  }) || std::ranges::any_of(body.stmts, [](const Stmt& stmt) {
    return std::holds_alternative<SetElement>(stmt) || std::holds_alternative<Continue>(stmt);
  });
}

Result<Program> expanded(const Linked& linked, bool limited) {
  Program program = linked.program();
  if (!needs_expansion(program.body)) return program;
  std::unordered_map<std::string_view, const Op*> ops;
  for (const auto& op : linked.ops()) ops.emplace(op->id, op.get());
  Inliner inliner(
      program.name, program.body, program.buffers, [&](std::string_view id) { return ops.at(id); },
      limited);
  Result<Body> body = inliner.expand("program", {});
  if (!body.ok()) return body.diagnostics();
  program.body = std::move(*body);
  program.buffers = inliner.take_buffers();
  return program;
}

}  // namespace

Program expand_calls(const Linked& linked) { return *expanded(linked, false); }

Result<Program> inline_calls(const Linked& linked) {
  ++counters.inlinings;
  Result<Program> program = expanded(linked, true);
  if (!program.ok()) return program;
  // What names take when they are written out is a limit too, which only long ones reach.
  constexpr std::size_t kLong = 200;
  const auto is_long = [&](const Local& local) { return local.name.size() > kLong; };
  if (std::ranges::any_of(program->body.locals, is_long)) {
    if (std::vector<Diagnostic> wrong = validate(*program); !wrong.empty()) return wrong;
  }
  return program;
}

Result<FlatOp> inline_calls(const Op& op, const Registry& registry) {
  FlatOp flat{op, {}};
  const bool has_arrays = std::ranges::any_of(op.signature.inputs, &is_array);
  if (!needs_expansion(op.body) && !has_arrays) return flat;
  Inliner inliner(op.id, op.body, {}, [&](std::string_view id) { return registry.find(id); });
  Result<Body> body = inliner.expand("op", op.signature.inputs);
  if (!body.ok()) return body.diagnostics();
  flat.op.body = std::move(*body);
  flat.memory = inliner.take_buffers();
  return flat;
}

}  // namespace vyre
