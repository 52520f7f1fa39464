#include "vyre/build/builder.h"

#include <algorithm>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/walk.h"
#include "vyre/validate/validate.h"

namespace vyre {
namespace {

std::uint32_t size32(const auto& table) { return static_cast<std::uint32_t>(table.size()); }

DataType result_type(Operation op, DataType first) {
  return contains(info(op).types, first) ? result_of(op, first) : DataType::Unknown;
}

Operation vector_form(DataType type) {
  return type == DataType::Vec2U32 ? Operation::Vec2 : Operation::Vec4;
}

}  // namespace

// --- Values --------------------------------------------------------------------------------------

Value Value::as(DataType type) const {
  if (kind_ != Kind::Number) return *this;
  if (type_ != DataType::Unknown) type = type_;
  if (type == DataType::Unknown) type = DataType::U32;
  const std::uint64_t magnitude = bits_.lanes[0] | std::uint64_t{bits_.lanes[1]} << 32;
  const unsigned width = info(type).width;
  const std::uint64_t limit = type == DataType::I32 ? (std::uint64_t{1} << 31) - !negative_
                              : width >= 64         ? ~std::uint64_t{0}
                                                    : (std::uint64_t{1} << width) - 1;
  if (is_vector(type) || magnitude > limit || (negative_ && type != DataType::I32)) return {};
  Value constant = *this;
  constant.kind_ = Kind::Constant;
  constant.type_ = type;
  if (negative_) constant.bits_.lanes = {0 - bits_.lanes[0]};
  return constant;
}

Value apply(Operation op, Value a) {
  if (a.is_constant()) {
    Value constant = a.as(DataType::U32);
    if (!contains(info(op).types, constant.type_)) return {};
    constant.bits_ = eval(op, constant.type_, constant.bits_);
    constant.type_ = result_of(op, constant.type_);
    return constant;
  }
  if (a.owner_ == nullptr) return {};
  const ExprId arg = a.owner_->expr(a);
  return a.owner_->make(a.owner_->interner_.make(op, 0, 0, {&arg, 1}), result_type(op, a.type_));
}

Value apply(Operation op, Value a, Value b) {
  // A number takes the type that the other operand asks for.
  const bool is_count = info(op).signature == Signature::Shift;
  const DataType first = a.type_ == DataType::Unknown && !is_count ? b.type_ : a.type_;
  BodyBuilder* owner = a.owner_ != nullptr ? a.owner_ : b.owner_;
  if (owner == nullptr) {
    Value left = a.as(first);
    const bool taken = left.is_constant() && contains(info(op).types, left.type_);
    if (!taken) return {};
    const Value right = b.as(second_operand(op, left.type_));
    if (!right.is_constant() || right.type_ != second_operand(op, left.type_)) return {};
    left.bits_ = eval(op, left.type_, left.bits_, right.bits_);
    left.type_ = result_of(op, left.type_);
    return left;
  }
  const DataType second =
      first == DataType::Unknown ? DataType::Unknown : second_operand(op, first);
  const ExprId args[] = {owner->expr(a, first), owner->expr(b, second)};
  return owner->make(owner->interner_.make(op, 0, 0, args), result_type(op, first));
}

Value cast(DataType target, Value value) {
  if (value.kind_ == Value::Kind::Number) {
    const Value constant = value.as(target);
    value.type_ = target;
    return constant.is_constant() ? constant : value;
  }
  if (value.type_ == target && is_vector(target)) return value;
  if (value.kind_ == Value::Kind::Constant) {
    if (!cast_exists(value.type_, target)) return {};
    value.bits_ = eval_cast(value.type_, target, value.bits_);
    value.type_ = target;
    return value;
  }
  if (value.owner_ == nullptr) return {};
  const ExprId arg = value.owner_->expr(value);
  const auto detail = static_cast<std::uint8_t>(target);
  return value.owner_->make(value.owner_->interner_.make(Operation::Cast, detail, 0, {&arg, 1}),
                            target);
}

Value select(Value condition, Value a, Value b) {
  BodyBuilder* owner = condition.owner_ != nullptr ? condition.owner_
                       : a.owner_ != nullptr       ? a.owner_
                                                   : b.owner_;
  const DataType type = a.type_ == DataType::Unknown ? b.type_ : a.type_;
  if (owner == nullptr) return condition.bits_ == Bits{} ? b.as(type) : a.as(type);
  const ExprId args[] = {owner->expr(condition), owner->expr(a, type), owner->expr(b, type)};
  return owner->make(owner->interner_.make(Operation::Select, 0, 0, args), type);
}

Value make_vector(DataType type, std::initializer_list<Value> lanes) {
  BodyBuilder* owner = nullptr;
  for (const Value& lane : lanes) owner = owner != nullptr ? owner : lane.owner_;
  if (owner == nullptr) {
    Value constant;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const Value lane = (lanes.begin() + i)->as(DataType::U32);
      if (!lane.is_constant() || lane.type_ != DataType::U32) return {};
      constant.bits_.lanes[i] = lane.bits_.lanes[0];
    }
    constant.kind_ = Value::Kind::Constant;
    constant.type_ = type;
    return constant;
  }
  std::vector<ExprId> args;
  for (const Value& lane : lanes) args.push_back(owner->expr(lane));
  return owner->make(owner->interner_.make(vector_form(type), 0, 0, args), type);
}

Value Value::lane(std::uint32_t index) const {
  if (kind_ == Kind::Constant && is_vector(type_) && index < info(type_).lanes) {
    return bits_.lanes[index];
  }
  if (owner_ == nullptr) return {};
  if (index > 3) {
    owner_->misuse<message::missing_lane>(type_, index, "the lanes are numbered 0 to 3");
    return owner_->make(owner_->interner_.local({}), DataType::U32);
  }
  const ExprId arg = owner_->expr(*this);
  return owner_->make(
      owner_->interner_.make(Operation::Lane, static_cast<std::uint8_t>(index), 0, {&arg, 1}),
      DataType::U32);
}

Element::operator Value() const {
  const DataType type = loaded_type(owner_->element_type(buffer_));
  return owner_->make(owner_->interner_.load(buffer_, owner_->expr(index_)), type);
}

Element& Element::operator=(Value value) {
  owner_->store(buffer_, index_, value);
  return *this;
}

Value Buffer::length() const { return owner_->make(owner_->interner_.length(id_), DataType::U32); }

// --- Bodies --------------------------------------------------------------------------------------

BodyBuilder::BodyBuilder(std::string name) : name_(std::move(name)) {}

ExprId BodyBuilder::expr(Value value, DataType wanted) {
  if (value.kind_ == Value::Kind::Number) {
    const Value constant = value.as(wanted);
    if (!constant.is_constant()) {
      const std::uint64_t magnitude = value.bits_.lanes[0] | std::uint64_t{value.bits_.lanes[1]}
                                                                 << 32;
      misuse<message::constant_range>((value.negative_ ? "-" : "") + std::to_string(magnitude),
                                      value.type_ != DataType::Unknown ? value.type_ : wanted);
    }
    value = constant;
    if (!value.is_constant()) return interner_.local({});
  }
  if (value.kind_ == Value::Kind::Constant) return constant(value.type_, value.bits_);
  if (value.owner_ == this) return value.id_;
  if (value.owner_ == nullptr) {
    misuse<message::empty_value>(name_);
  } else {
    misuse<message::foreign_value>(name_);
  }
  return interner_.local({});
}

// There are no vector literals: a vector constant is made from its lanes.
ExprId BodyBuilder::constant(DataType type, const Bits& bits) {
  if (!is_vector(type)) return interner_.literal(type, bits);
  std::vector<ExprId> lanes;
  for (std::size_t i = 0; i < info(type).lanes; ++i) {
    lanes.push_back(interner_.literal(DataType::U32, {{bits.lanes[i]}}));
  }
  return interner_.make(vector_form(type), 0, 0, lanes);
}

Value BodyBuilder::make(ExprId id, DataType type) {
  Value value;
  value.kind_ = Value::Kind::Expression;
  value.owner_ = this;
  value.id_ = id;
  value.type_ = type;
  return value;
}

Value BodyBuilder::local_value(LocalId local, DataType type) {
  return make(interner_.local(local), type);
}

LocalId BodyBuilder::declare(std::string name) {
  names_.insert(name);
  body_.locals.push_back({std::move(name)});
  return LocalId{body_.locals.size() - 1};
}

// A name that no local has yet.
std::string BodyBuilder::fresh_name(std::string_view stem) {
  std::string name;
  do {
    name = std::string(stem) + std::to_string(fresh_++);
  } while (names_.contains(name));
  return name;
}

Value BodyBuilder::literal(DataType type, const Bits& bits) {
  return make(constant(type, bits), type);
}

Value BodyBuilder::call(std::string_view id, std::initializer_list<Value> arguments) {
  const Op* op = Registry().find(id);
  std::vector<ExprId> args;
  for (const Value& argument : arguments) {
    const bool known = op != nullptr && args.size() < op->signature.inputs.size();
    args.push_back(expr(argument, known ? op->signature.inputs[args.size()] : DataType::U32));
  }
  return make(interner_.call(id, args), op != nullptr ? op->signature.output : DataType::Unknown);
}

Value BodyBuilder::let(std::string name, Value value) {
  const ExprId id = expr(value);
  const DataType type = value.as(DataType::U32).type_;
  const LocalId local = declare(std::move(name));
  body_.stmts.push_back(Let{local, id});
  return local_value(local, type);
}

void BodyBuilder::assign(Value local, Value value) {
  const ExprId target = expr(local);
  const ExprId id = expr(value, local.type_);
  const Expr& name = body_[target];
  if (name.op != Operation::Local) {
    misuse<message::assigned_expression>(name_);
    return;
  }
  body_.stmts.push_back(Assign{name.imm < body_.locals.size() ? LocalId{name.imm} : LocalId{}, id});
}

void BodyBuilder::store(BufferId buffer, Value index, Value value) {
  const ExprId at = expr(index);
  const ExprId id = expr(value, loaded_type(element_type(buffer)));
  body_.stmts.push_back(Store{buffer, at, id});
}

void BodyBuilder::break_() { body_.stmts.push_back(Break{}); }

void BodyBuilder::begin_if(Value condition) {
  const ExprId id = expr(condition);
  open_.push_back({size32(body_.stmts), false});
  body_.stmts.push_back(If{id, {}, {}});
}

void BodyBuilder::begin_else() {
  If* branch = open_.empty() ? nullptr : std::get_if<If>(&body_.stmts[open_.back().owner]);
  if (branch == nullptr || open_.back().in_else) {
    misuse<message::nothing_to_close>(name_);
    return;
  }
  open_.back().in_else = true;
  branch->else_begin = StmtId{body_.stmts.size()};
}

Value BodyBuilder::begin_for(std::string name, Value from, Value to) {
  const ExprId first = expr(from);
  const ExprId last = expr(to);
  const LocalId variable = declare(std::move(name));
  open_.push_back({size32(body_.stmts), false});
  body_.stmts.push_back(For{variable, first, last, {}});
  return local_value(variable, DataType::U32);
}

void BodyBuilder::begin_block() {
  open_.push_back({size32(body_.stmts), false});
  body_.stmts.push_back(Block{});
}

void BodyBuilder::end() {
  if (open_.empty()) {
    misuse<message::nothing_to_close>(name_);
    return;
  }
  close_block(body_, open_.back());
  open_.pop_back();
}

void BodyBuilder::close_block(Body& body, Open open) {
  const StmtId end{body.stmts.size()};
  Stmt& owner = body.stmts[open.owner];
  if (If* branch = std::get_if<If>(&owner)) {
    if (!open.in_else) branch->else_begin = end;
    branch->end = end;
  } else if (For* loop = std::get_if<For>(&owner)) {
    loop->end = end;
  } else {
    std::get<Block>(owner).end = end;
  }
}

void BodyBuilder::if_(Value condition, const std::function<void()>& then) {
  begin_if(condition);
  then();
  end();
}

void BodyBuilder::if_(Value condition, const std::function<void()>& then,
                      const std::function<void()>& otherwise) {
  begin_if(condition);
  then();
  begin_else();
  otherwise();
  end();
}

void BodyBuilder::for_(std::string name, Value from, Value to,
                       const std::function<void(Value)>& body) {
  const Value variable = begin_for(std::move(name), from, to);
  body(variable);
  end();
}

void BodyBuilder::block(const std::function<void()>& body) {
  begin_block();
  body();
  end();
}

Body BodyBuilder::finished_body(std::uint32_t parameters,
                                std::vector<Diagnostic>& diagnostics) const {
  Body body = body_;
  diagnostics = misuses_;
  if (!open_.empty()) {
    diagnostics.push_back(diagnose<message::unclosed_block>(name_, open_.size()));
    for (std::size_t i = open_.size(); i-- > 0;) close_block(body, open_[i]);
  }
  // An atomic's result that no expression mentions is no local at all. Only reachable expressions
  // count, and those are what canonical() keeps.
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
    if (atomic != nullptr && atomic->result.exists() && !used[atomic->result.index]) {
      atomic->result = {};
    }
  }
  for (Diagnostic& diagnostic : diagnostics) diagnostic.path = name_;
  return canonical(body, parameters);
}

// --- Programs ------------------------------------------------------------------------------------

Builder::Builder(std::string name, std::initializer_list<std::uint32_t> workgroup_size)
    : BodyBuilder(std::move(name)) {
  std::copy_n(workgroup_size.begin(), std::min<std::size_t>(3, workgroup_size.size()),
              workgroup_size_.begin());
  if (workgroup_size.size() > 3) misuse<message::too_many_axes>(name_);
}

Buffer Builder::add_buffer(std::string name, BufferAccess access, DataType element,
                           std::uint32_t count) {
  const std::uint32_t binding = access == BufferAccess::Workgroup ? 0 : bindings_++;
  buffers_.push_back({std::move(name), binding, access, element, count});
  return {this, BufferId{buffers_.size() - 1}};
}

Value Builder::id(Operation op, std::uint32_t axis) {
  if (axis > 2) {
    const std::string_view what = op == Operation::InvocationId  ? "invocation_id"
                                  : op == Operation::WorkgroupId ? "workgroup_id"
                                                                 : "local_id";
    misuse<message::unknown_axis>(what, axis);
    return make(interner_.local({}), DataType::U32);
  }
  return make(interner_.make(op, static_cast<std::uint8_t>(axis), 0, {}), DataType::U32);
}

Value Builder::atomic(AtomicOp op, const Element& element, Value value, Value expected) {
  Atomic statement;
  statement.op = op;
  statement.buffer = element.buffer_;
  if (element.owner_ != this) {
    misuse<message::foreign_value>(name_);
    return {};
  }
  const DataType type = loaded_type(element_type(element.buffer_));
  statement.index = expr(element.index_);
  if (op == AtomicOp::CompareExchange) statement.expected = expr(expected, type);
  statement.value = expr(value, type);
  statement.result = declare(fresh_name("old"));
  body_.stmts.push_back(statement);
  return local_value(statement.result, type);
}

void Builder::return_() { body_.stmts.push_back(Return{}); }
void Builder::barrier() { body_.stmts.push_back(Barrier{}); }

Result<Program> Builder::finish(const Registry& registry) const {
  std::vector<Diagnostic> diagnostics;
  Program program{name_, workgroup_size_, buffers_, finished_body(0, diagnostics)};
  for (Diagnostic& diagnostic : validate(program, registry)) {
    diagnostics.push_back(std::move(diagnostic));
  }
  if (!diagnostics.empty()) return diagnostics;
  return program;
}

// --- Ops -----------------------------------------------------------------------------------------

OpBuilder::OpBuilder(std::string id, DataType output) : BodyBuilder(id) {
  op_.id = std::move(id);
  op_.signature.output = output;
}

Value OpBuilder::add_parameter(std::string name, DataType type) {
  if (body_.locals.size() != op_.signature.inputs.size()) {
    misuse<message::late_parameter>(name_);
    return make(interner_.local({}), type);
  }
  op_.signature.inputs.push_back(type);
  return local_value(declare(std::move(name)), type);
}

void OpBuilder::describe(std::string description) {
  if (first_invalid_utf8(description) != description.size()) {
    misuse<message::bad_description>(name_);
    return;
  }
  op_.description = std::move(description);
}

void OpBuilder::return_(Value value) {
  body_.stmts.push_back(Return{expr(value, op_.signature.output)});
}

Result<Op> OpBuilder::finish(const Registry& registry) const {
  std::vector<Diagnostic> diagnostics;
  Op op = op_;
  op.body = finished_body(size32(op.signature.inputs), diagnostics);
  for (Diagnostic& diagnostic : validate(Module{{op}}, registry)) {
    diagnostics.push_back(std::move(diagnostic));
  }
  if (!diagnostics.empty()) return diagnostics;
  return op;
}

}  // namespace vyre
