#include "vyre/build/builder.h"

#include <algorithm>
#include <unordered_set>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/typing.h"
#include "vyre/ir/walk.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

std::uint32_t size32(const auto& table) { return static_cast<std::uint32_t>(table.size()); }

}  // namespace

// --- Values --------------------------------------------------------------------------------------

Value Value::as(DataType type) const {
  if (kind_ == Kind::Array && type_ == DataType::Unknown) {
    const Value first = (*elements_)[0].as(element_type(type));
    Value array = *this;
    array.type_ = array_type(first.type_, size32(*elements_));
    return array;
  }
  if (kind_ != Kind::Number) return *this;
  if (type_ != DataType::Unknown) type = type_;
  if (type == DataType::Unknown) type = DataType::U32;
  const std::uint64_t magnitude = bits_.lanes[0] | std::uint64_t{bits_.lanes[1]} << 32;
  const unsigned width = info(type).width;
  const std::uint64_t limit = has_sign(type) ? (std::uint64_t{1} << (width - 1)) - !negative_
                              : width >= 64  ? ~std::uint64_t{0}
                                             : (std::uint64_t{1} << width) - 1;
  if (is_vector(type) || width == 0 || magnitude > limit || (negative_ && !has_sign(type))) {
    return wrong(diagnose<message::constant_range>(
        (negative_ ? "-" : "") + std::to_string(magnitude), type));
  }
  Value constant = *this;
  constant.kind_ = Kind::Constant;
  constant.type_ = type;
  if (negative_) constant.bits_.lanes = {0 - bits_.lanes[0]};
  return constant;
}

// An operation on values that have types: of constants alone it is computed at once.
Value Value::combine(Operation op, std::uint8_t detail, std::initializer_list<Value> args) {
  const Value* arg = args.begin();
  const auto owned = std::ranges::find_if(args, [](const Value& v) { return v.owner_ != nullptr; });
  std::optional<Diagnostic> problem;
  Value result;
  result.type_ = checked_type(
      Expr{op, detail}, [&](std::size_t i) { return arg[i].type_; },
      [&](int, auto make) {
        if (!problem) problem = make();
      });
  if (owned != args.end()) {
    std::vector<ExprId> ids;
    for (const Value& each : args) ids.push_back(owned->owner_->expr(each));
    return owned->owner_->make(owned->owner_->interner_.make(op, detail, 0, ids), result.type_);
  }
  for (const Value& each : args) {
    if (!each.is_constant()) return each;
  }
  if (problem) return wrong(*std::move(problem));
  result.kind_ = Kind::Constant;
  if (op == Operation::Select) {
    result.bits_ = arg[arg[0].bits_ == Bits{} ? 2 : 1].bits_;
  } else if (op == Operation::Cast) {
    result.bits_ = eval_cast(arg[0].type_, result.type_, arg[0].bits_);
  } else if (op == Operation::Lane) {
    result.bits_.lanes[0] = arg[0].bits_.lanes[detail];
  } else if (op == Operation::Vec2 || op == Operation::Vec4) {
    for (std::size_t i = 0; i < args.size(); ++i) result.bits_.lanes[i] = arg[i].bits_.lanes[0];
  } else {
    result.bits_ = eval(op, arg[0].type_, arg[0].bits_, arg[args.size() - 1].bits_);
  }
  return result;
}

Value apply(Operation op, Value a) {
  a = a.as(DataType::U32);
  return Value::combine(resolve(op, a.type_), 0, {a});
}

Value apply(Operation op, Value a, Value b) {
  // A number takes the type that the other operand asks for.
  const bool is_count = info(op).signature == Signature::Shift;
  a = a.as(a.type_ == DataType::Unknown && !is_count ? b.type_ : a.type_);
  op = resolve(op, a.type_);
  return Value::combine(op, 0, {a, b.as(second_operand(op, a.type_))});
}

Value cast(DataType target, Value value) {
  value = value.as(is_vector(target) || target == DataType::Bytes ? DataType::U32 : target);
  if (value.type_ == target && (is_vector(target) || value.is_constant())) return value;
  return Value::combine(Operation::Cast, static_cast<std::uint8_t>(target), {value});
}

Value select(Value condition, Value a, Value b) {
  const DataType type = a.type_ == DataType::Unknown ? b.type_ : a.type_;
  return Value::combine(Operation::Select, 0,
                        {condition.as(DataType::U32), a.as(type), b.as(type)});
}

Value make_vector(DataType type, std::initializer_list<Value> lanes) {
  std::array<Value, 4> typed;
  std::ranges::transform(lanes, typed.begin(), [](Value lane) { return lane.as(DataType::U32); });
  const auto& [x, y, z, w] = typed;
  if (type == DataType::Vec2U32) return Value::combine(Operation::Vec2, 0, {x, y});
  return Value::combine(Operation::Vec4, 0, {x, y, z, w});
}

Value Value::lane(std::uint32_t index) const {
  if (index > 3)
    return wrong(diagnose<message::missing_lane>(
        type_, "?", "vectors have the lanes .x .y, and .z .w when they have four"));
  return combine(Operation::Lane, static_cast<std::uint8_t>(index), {as(DataType::U32)});
}

Value Value::operator[](Value index) const {
  return combine(Operation::Element, 0, {as(DataType::U32), index.as(DataType::U32)});
}

Value Value::length() const { return combine(Operation::Count, 0, {as(DataType::U32)}); }

Variable& Variable::operator=(Value value) {
  BodyBuilder::assign(*this, value);
  return *this;
}

Variable& Variable::operator=(Fresh&& fresh) {
  BodyBuilder::assign_result(*this, fresh);
  return *this;
}

ArrayElement& ArrayElement::operator=(Value value) {
  BodyBuilder::set_element(array_, index_, value);
  return *this;
}

Element::operator Value() const {
  const DataType type = owner_->value_type(buffer_);
  return owner_->make(owner_->interner_.load(buffer_, owner_->expr(index_)), type);
}

Element& Element::operator=(Value value) {
  owner_->store(buffer_, index_, value);
  return *this;
}

Buffer Buffer::binding(std::uint32_t number) const {
  owner_->buffers_[id_.index].binding = number;
  owner_->bound_[id_.index] = true;
  return *this;
}

Value Buffer::length() const { return owner_->make(owner_->interner_.length(id_), DataType::U32); }

// --- Bodies --------------------------------------------------------------------------------------

ExprId BodyBuilder::expr(Value value, DataType wanted) {
  value = value.as(wanted);
  switch (value.kind_) {
    case Value::Kind::Array: {
      std::vector<ExprId> ids;
      for (const Value& each : *value.elements_)
        ids.push_back(expr(each, element_type(value.type_)));
      return interner_.array(ids);
    }
    case Value::Kind::Constant: return constant(value.type_, value.bits_);
    case Value::Kind::Wrong: add_misuse(*value.wrong_); break;
    case Value::Kind::Nothing: misuse<message::empty_value>(name_); break;
    case Value::Kind::Expression:
      if (value.owner_ == this) return value.id_;
      misuse<message::foreign_value>(name_);
      break;
    case Value::Kind::Number: break;  // as() has made something else of it
  }
  return interner_.local({});
}

void BodyBuilder::add_misuse(Diagnostic diagnostic) {
  if (misuses_.size() < kMaxDiagnostics) {
    misuses_.push_back({std::move(diagnostic), size32(body_.stmts)});
  }
}

// There are no vector literals: a vector constant is made from its lanes.
ExprId BodyBuilder::constant(DataType type, const Bits& bits) {
  if (!is_vector(type)) return interner_.literal(type, bits);
  std::vector<ExprId> lanes;
  for (std::size_t i = 0; i < info(type).lanes; ++i) {
    lanes.push_back(interner_.literal(DataType::U32, {{bits.lanes[i]}}));
  }
  return interner_.make(type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4, 0, 0, lanes);
}

Value BodyBuilder::make(ExprId id, DataType type) {
  Value value;
  value.kind_ = Value::Kind::Expression;
  value.owner_ = this;
  value.id_ = id;
  value.type_ = type;
  return value;
}

Value BodyBuilder::literal(DataType type, const Bits& bits) {
  if (!is_value({type, bits})) {
    misuse<message::constant_range>("this constant", type);
    return make(interner_.local({}), type);
  }
  return make(constant(type, bits), type);
}

Value BodyBuilder::call(std::string_view id, std::initializer_list<Value> arguments) {
  const Op* op = registry_.find(id);
  std::vector<ExprId> args;
  for (const Value& argument : arguments) {
    const bool known = op != nullptr && args.size() < op->signature.inputs.size();
    args.push_back(expr(argument, known ? op->signature.inputs[args.size()] : DataType::U32));
  }
  return make(interner_.call(id, args), op != nullptr ? op->signature.output : DataType::Unknown);
}

Value BodyBuilder::call(const Op& op, std::initializer_list<Value> arguments) {
  use(op);
  return call(op.id, arguments);
}

void BodyBuilder::use(const Op& op) {
  const Result<const Op*> added = registry_.add(op);
  if (!added) add_misuse(added.diagnostics()[0]);
}

void BodyBuilder::use(const Registry& registry) {
  const Result<void> added = registry_.add(registry);
  if (!added) add_misuse(added.diagnostics()[0]);
}

Variable BodyBuilder::let(std::string name, Value value) {
  value = value.as(DataType::U32);
  const ExprId id = expr(value);
  const LocalId local = declare(std::move(name));
  body_.stmts.push_back(Let{local, id});
  return variable(local, value.type_);
}

Variable BodyBuilder::let(std::string name, Fresh&& fresh) {
  const LocalId local = unnamed(fresh);
  if (!local.exists()) return let(std::move(name), Value(fresh));
  body_.locals[local.index].name = std::move(name);
  return Variable(fresh);
}

DataType BodyBuilder::array_of(DataType element, std::uint32_t count) {
  const bool exists = count > 0 && count <= kMaxTableCount;
  if (!exists) misuse<message::array_length>(count);
  return array_type(element, exists ? count : 1);
}

Variable BodyBuilder::add_array(std::string name, DataType element, std::uint32_t count) {
  if (element == DataType::Unknown) {
    misuse<message::no_type>(name);
    element = DataType::U32;
  }
  const DataType type = array_of(element, count);
  return let(std::move(name), make(interner_.zero(type), type));
}

Value BodyBuilder::make_array(std::vector<Value> elements) {
  if (elements.empty() || elements.size() > kMaxTableCount) {
    misuse<message::array_length>(elements.size());
    return make(interner_.local({}), DataType::Unknown);
  }
  if (std::ranges::any_of(elements, [](const Value& each) {
        return each.kind_ == Value::Kind::Array || is_array(each.type_);
      })) {
    misuse<message::nested_array>();
    return make(interner_.local({}), DataType::Unknown);
  }
  Value array = make({}, DataType::Unknown);
  array.kind_ = Value::Kind::Array;
  const auto typed = std::ranges::find_if(
      elements, [](const Value& each) { return each.type_ != DataType::Unknown; });
  if (typed != elements.end()) array.type_ = array_type(typed->type_, size32(elements));
  array.elements_ = std::make_shared<const std::vector<Value>>(std::move(elements));
  return array;
}

Value BodyBuilder::add_table(std::string name, DataType element,
                             const std::vector<Value>& elements) {
  std::optional<Diagnostic> problem = table_error(name, element, elements.size());
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < elements.size() && !problem; ++i) {
    // A number gets the type of the element, which may be narrow.
    const Value constant = elements[i].as(element);
    const std::span<const std::byte> lanes = std::as_bytes(std::span(constant.bits_.lanes));
    const bool has_type = constant.kind_ == Value::Kind::Constant &&
                          (constant.type_ == element || constant.type_ == loaded_type(element));
    if (constant.kind_ == Value::Kind::Wrong) {
      problem = *constant.wrong_;
    } else if (!has_type || kept_by(element, constant.bits_) != constant.bits_) {
      const std::string what = "element " + std::to_string(i) + " of `" + name + "`";
      problem = diagnose<message::constant_range>(what, element);
    }
    bytes.insert(bytes.end(), lanes.begin(), lanes.begin() + stride(element));
  }
  if (problem) {
    add_misuse(*std::move(problem));
    return make(interner_.local({}), DataType::Unknown);
  }
  const ConstTable table{std::move(name), element, Contents(std::move(bytes))};
  return make(interner_.table(table), table.type());
}

// None where the variable could not be made.
LocalId BodyBuilder::local_of(const Value& variable) const {
  const Expr& expr = body_[variable.id_];
  return expr.imm < body_.locals.size() ? LocalId{expr.imm} : LocalId{};
}

// The local of a result, unless it has a name by now.
LocalId BodyBuilder::unnamed(const Fresh& fresh) const {
  const LocalId local = fresh.owner_ == this ? local_of(fresh) : LocalId{};
  return local.exists() && body_[local].name == kUnnamed ? local : LocalId{};
}

void BodyBuilder::assign(const Value& variable, Value value) {
  BodyBuilder& owner = *variable.owner_;
  const ExprId id = owner.expr(value, variable.type_);
  owner.body_.stmts.push_back(Assign{owner.local_of(variable), id});
}

// As the text: `{ let __result = atomic_add(…)  x = __result }`.
void BodyBuilder::assign_result(const Value& variable, const Fresh& fresh) {
  BodyBuilder& owner = *variable.owner_;
  std::vector<Stmt>& stmts = owner.body_.stmts;
  const LocalId result = owner.unnamed(fresh);
  if (result.exists() && declared(stmts.back()) == result) {
    owner.body_.locals[result.index].name = kResultName;
    stmts.insert(stmts.end() - 1, Block{StmtId{stmts.size() + 2}});
  }
  assign(variable, fresh);
}

void BodyBuilder::set_element(const Value& array, Value index, Value value) {
  BodyBuilder& owner = *array.owner_;
  const ExprId at = owner.expr(index);
  const ExprId id = owner.expr(value, element_type(array.type_));
  owner.body_.stmts.push_back(SetElement{owner.local_of(array), at, id});
}

void BodyBuilder::store(BufferId buffer, Value index, Value value) {
  const ExprId at = expr(index);
  const ExprId id = expr(value, value_type(buffer));
  body_.stmts.push_back(Store{buffer, at, id});
}

void BodyBuilder::begin_if(Value condition) { open(If{expr(condition), {}, {}}); }

void BodyBuilder::begin_else() {
  If* branch = open_.empty() ? nullptr : std::get_if<If>(&body_.stmts[open_.back().owner]);
  if (branch == nullptr || open_.back().in_else) {
    misuse<message::nothing_to_close>(name_);
    return;
  }
  open_.back().in_else = true;
  branch->else_begin = StmtId{body_.stmts.size()};
}

// The loops that are more than one `for` are what docs/text-format.md says, names included.
Value BodyBuilder::begin_for(std::string name, Value from, Value to, std::int64_t step) {
  if (step < 1 || step > 0xffff'ffff) {
    misuse<message::wrong_step>(step);
    step = 1;
  }
  if (step > 1) {
    open(Block{}, Made::Around);
    const Value first = let(hidden("from"), from);
    const Value span = let(hidden("span"), sub_sat(to, first));
    const Value round = begin_round(0, span / step + (span % step != 0));
    return let(std::move(name), first + round * step);
  }
  const ExprId first = expr(from);
  const ExprId last = expr(to);
  const LocalId variable = declare(std::move(name));
  open(For{variable, first, last, {}});
  return local_value(variable, DataType::U32);
}

Value BodyBuilder::begin_for_reversed(std::string name, Value from, Value to) {
  open(Block{}, Made::Around);
  const Value first = let(hidden("from"), from);
  const Value last = let(hidden("to"), to);
  const Value round = begin_round(first, last);
  return let(std::move(name), last - 1 - (round - first));
}

void BodyBuilder::begin_while(Value condition) {
  begin_round(0, 0xffff'ffff);
  const Operation op = resolve(Operation::LogicalNot, condition.as(DataType::U32).type_);
  const ExprId id = expr(condition);
  begin_if(make(interner_.make(op, 0, 0, {&id, 1}), DataType::U32));
  break_();
  end();
}

Value BodyBuilder::begin_round(Value from, Value to) {
  const ExprId first = expr(from);
  const ExprId last = expr(to);
  const LocalId round = declare(hidden("round"));
  open(For{round, first, last, {}}, Made::Round);
  return local_value(round, DataType::U32);
}

// With the number of such loops around it.
std::string BodyBuilder::hidden(std::string_view name) const {
  const auto depth = std::ranges::count(open_, Made::Round, &Open::made);
  return "__" + std::string(name) + std::to_string(depth);
}

void BodyBuilder::begin_block() { open(Block{}); }

void BodyBuilder::end() {
  if (open_.empty()) {
    misuse<message::nothing_to_close>(name_);
    return;
  }
  const Made made = open_.back().made;
  close_block(body_, open_.back());
  open_.pop_back();
  if (made == Made::Round && !open_.empty() && open_.back().made == Made::Around) end();
}

void BodyBuilder::close_block(Body& body, Open open) {
  const StmtId end{body.stmts.size()};
  std::visit(
      [&](auto& owner) {
        if constexpr (requires { owner.end; }) owner.end = end;
        if constexpr (requires { owner.else_begin; }) {
          if (!open.in_else) owner.else_begin = end;
        }
      },
      body.stmts[open.owner]);
}

Body BodyBuilder::finished_body(std::uint32_t parameters,
                                std::vector<Diagnostic>& diagnostics) const {
  Body body = body_;
  for (std::size_t i = open_.size(); i-- > 0;) close_block(body, open_[i]);
  for (const Misuse& misuse : misuses_) {
    Diagnostic& diagnostic = diagnostics.emplace_back(misuse.diagnostic);
    diagnostic.path = item_path_;
    if (misuse.stmt < body.stmts.size())
      diagnostic.path += ": " + path_of(body, StmtId{misuse.stmt});
  }
  if (!open_.empty()) {
    const auto count =
        std::ranges::count_if(open_, [](const Open& open) { return open.made != Made::Around; });
    diagnostics.push_back(diagnose<message::unclosed_block>(name_, count));
    diagnostics.back().path = item_path_;
  }
  // An atomic's result that has no name and that no expression uses is not a local. Only reachable
  // expressions count, and those are what canonical() keeps.
  body = canonical(body, parameters);
  std::vector<bool> used(body.locals.size());
  for (const Expr& expr : body.exprs) {
    if (expr.op == Operation::Local && expr.imm < used.size()) used[expr.imm] = true;
  }
  for (const Stmt& stmt : body.stmts) {
    if (const Assign* assign = std::get_if<Assign>(&stmt); assign && assign->local.exists()) {
      used[assign->local.index] = true;
    }
  }
  for (Stmt& stmt : body.stmts) {
    Atomic* atomic = std::get_if<Atomic>(&stmt);
    if (atomic == nullptr || !atomic->result.exists() || used[atomic->result.index]) continue;
    if (body[atomic->result].name == kUnnamed) atomic->result = {};
  }
  name_locals(body);
  return canonical(body, parameters);
}

// Names the locals that have none, by names that nothing else has.
void BodyBuilder::name_locals(Body& body) const {
  std::unordered_set<std::string_view> taken;
  for (const BufferDecl& buffer : buffers_) taken.insert(buffer.name);
  for (const Local& local : body_.locals) taken.insert(local.name);
  std::uint32_t number = 0;
  for (const Stmt& stmt : body.stmts) {
    const LocalId local = declared(stmt);
    if (!local.exists() || body[local].name != kUnnamed) continue;
    std::string& name = body.locals[local.index].name;
    const std::string_view stem = std::holds_alternative<Atomic>(stmt) ? "old" : "v";
    do {
      name = std::string(stem) + std::to_string(number++);
    } while (taken.contains(name));
  }
}

// --- Programs ------------------------------------------------------------------------------------

Builder::Builder(std::string name, std::initializer_list<std::uint32_t> workgroup_size)
    : BodyBuilder("program ", std::move(name)) {
  std::copy_n(workgroup_size.begin(), std::min<std::size_t>(3, workgroup_size.size()),
              workgroup_size_.begin());
  if (workgroup_size.size() > 3) misuse<message::too_many_axes>(name_);
}

Buffer Builder::add_buffer(std::string name, BufferAccess access, DataType element,
                           std::uint32_t count) {
  if (element == DataType::Unknown) misuse<message::no_type>(name);
  buffers_.push_back({std::move(name), 0, access, element, count});
  bound_.push_back(false);
  return {this, BufferId{buffers_.size() - 1}};
}

Value Builder::id(Operation op, std::uint32_t axis) {
  if (axis > 2) {
    misuse<message::unknown_axis>(id_name(op), axis);
    return make(interner_.local({}), DataType::U32);
  }
  return make(interner_.make(op, static_cast<std::uint8_t>(axis), 0, {}), DataType::U32);
}

Fresh Builder::atomic(AtomicOp op, const Element& element, Value value, Value expected) {
  if (element.owner_ != this) {
    misuse<message::foreign_value>(name_);
    return Fresh(local_value({}, DataType::Unknown));
  }
  Atomic statement;
  statement.op = op;
  statement.buffer = element.buffer_;
  const DataType type = value_type(element.buffer_);
  statement.index = expr(element.index_);
  if (info(op).operands > 1) statement.expected = expr(expected, type);
  if (info(op).operands > 0) statement.value = expr(value, type);
  if (op != AtomicOp::Store) statement.result = declare(kUnnamed);
  body_.stmts.push_back(statement);
  if (op == AtomicOp::Store) return Fresh(Value::wrong(diagnose<message::store_result>()));
  return Fresh(local_value(statement.result, type));
}

Fresh Builder::collective(CollectiveOp op, Value value, Value invocation) {
  Collective statement;
  statement.op = op;
  value = value.as(DataType::U32);
  statement.value = expr(value);
  if (info(op).chooses()) statement.invocation = expr(invocation);
  statement.result = declare(kUnnamed);
  body_.stmts.push_back(statement);
  return Fresh(local_value(statement.result, value.type_));
}

Result<Linked> Builder::finish() const {
  std::vector<Diagnostic> diagnostics;
  Program program{name_, workgroup_size_, buffers_, finished_body(0, diagnostics)};
  number_bindings(program.buffers, bound_);
  std::ranges::move(validate(program, registry_), std::back_inserter(diagnostics));
  if (!diagnostics.empty()) return diagnostics;
  return link_valid(std::move(program), registry_);
}

// --- Ops -----------------------------------------------------------------------------------------

OpBuilder::OpBuilder(std::string id, DataType output) : BodyBuilder("op ", id) {
  op_.id = std::move(id);
  op_.signature.output = output;
  if (output == DataType::Unknown) misuse<message::no_type>(name_);
}

Variable OpBuilder::add_parameter(std::string name, DataType type) {
  if (body_.locals.size() != op_.signature.inputs.size()) {
    misuse<message::late_parameter>(name_);
    return variable({}, type);
  }
  if (element_type(type) == DataType::Unknown) misuse<message::no_type>(name);
  op_.signature.inputs.push_back(type);
  return variable(declare(std::move(name)), type);
}

Result<Op> OpBuilder::finish() const {
  std::vector<Diagnostic> diagnostics;
  Op op = op_;
  op.body = finished_body(size32(op.signature.inputs), diagnostics);
  std::ranges::move(validate(Module{{op}}, registry_), std::back_inserter(diagnostics));
  if (!diagnostics.empty()) return diagnostics;
  return op;
}

}  // namespace vyre
