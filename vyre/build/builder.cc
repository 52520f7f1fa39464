#include "vyre/build/builder.h"

#include <algorithm>
#include <unordered_set>

#include "vyre/base/text.h"
#include "vyre/ir/eval.h"
#include "vyre/ir/walk.h"
#include "vyre/validate/link.h"
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
  const std::uint64_t limit = has_sign(type) ? (std::uint64_t{1} << (width - 1)) - !negative_
                              : width >= 64  ? ~std::uint64_t{0}
                                             : (std::uint64_t{1} << width) - 1;
  if (is_vector(type) || width == 0 || magnitude > limit || (negative_ && !has_sign(type))) {
    return wrong<message::constant_range>((negative_ ? "-" : "") + std::to_string(magnitude), type);
  }
  Value constant = *this;
  constant.kind_ = Kind::Constant;
  constant.type_ = type;
  if (negative_) constant.bits_.lanes = {0 - bits_.lanes[0]};
  return constant;
}

Value Value::unfit(Operation op, DataType type) {
  return wrong<message::operand_type>(info(op).text, type, list_of(info(op).types));
}

Value apply(Operation op, Value a) {
  if (a.is_constant()) {
    Value constant = a.as(DataType::U32);
    if (!constant.is_constant()) return constant;
    op = resolve(op, constant.type_);
    if (!contains(info(op).types, constant.type_)) return Value::unfit(op, constant.type_);
    constant.bits_ = eval(op, constant.type_, constant.bits_);
    constant.type_ = result_of(op, constant.type_);
    return constant;
  }
  if (a.owner_ == nullptr) return a;
  op = resolve(op, a.type_);
  const ExprId arg = a.owner_->expr(a);
  return a.owner_->make(a.owner_->interner_.make(op, 0, 0, {&arg, 1}), result_type(op, a.type_));
}

Value apply(Operation op, Value a, Value b) {
  // A number takes the type that the other operand asks for.
  const bool is_count = info(op).signature == Signature::Shift;
  const DataType first = a.type_ == DataType::Unknown && !is_count ? b.type_ : a.type_;
  op = resolve(op, first);
  BodyBuilder* owner = a.owner_ != nullptr ? a.owner_ : b.owner_;
  if (owner == nullptr) {
    Value left = a.as(first);
    if (!left.is_constant()) return left;
    if (!contains(info(op).types, left.type_)) return Value::unfit(op, left.type_);
    const DataType wanted = second_operand(op, left.type_);
    const Value right = b.as(wanted);
    if (!right.is_constant()) return right;
    if (right.type_ != wanted) {
      return Value::wrong<message::operand_types>(info(op).text, left.type_, right.type_);
    }
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
  if (target == DataType::Bytes && value.is_constant()) {
    return Value::wrong<message::cast_to_bytes>();
  }
  if (value.kind_ == Value::Kind::Number) {
    value.type_ = is_vector(target) ? DataType::U32 : target;
    value = value.as(value.type_);
  }
  if (value.type_ == target && (is_vector(target) || value.is_constant())) return value;
  if (value.kind_ == Value::Kind::Constant) {
    if (!cast_exists(value.type_, target)) {
      return Value::wrong<message::unsupported_cast>(value.type_, target,
                                                     list_of(cast_targets(value.type_)));
    }
    value.bits_ = eval_cast(value.type_, target, value.bits_);
    value.type_ = target;
    return value;
  }
  if (value.owner_ == nullptr) return value;
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
  if (owner == nullptr) {
    const Value truth = condition.as(DataType::U32), left = a.as(type), right = b.as(type);
    for (const Value& part : {truth, left, right}) {
      if (!part.is_constant()) return part;
    }
    if (truth.type_ != DataType::U32 && truth.type_ != DataType::Bool) {
      return Value::wrong<message::condition_type>(truth.type_, "");
    }
    if (left.type_ != right.type_) {
      return Value::wrong<message::select_sides>(left.type_, right.type_);
    }
    return truth.bits_ == Bits{} ? right : left;
  }
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
      if (!lane.is_constant()) return lane;
      if (lane.type_ != DataType::U32) {
        return Value::wrong<message::lane_operand>(type, lane.type_);
      }
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
  if (is_constant() || index > 3) {
    const std::string_view name = index > 3 ? "?" : std::string_view("xyzw").substr(index, 1);
    return wrong<message::missing_lane>(
        as(DataType::U32).type_, name,
        "vectors have the lanes .x .y, and .z .w when they have four");
  }
  if (owner_ == nullptr) return *this;
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

Buffer Buffer::binding(std::uint32_t number) const {
  owner_->buffers_[id_.index].binding = number;
  owner_->bound_[id_.index] = true;
  return *this;
}

Value Buffer::length() const { return owner_->make(owner_->interner_.length(id_), DataType::U32); }

// --- Bodies --------------------------------------------------------------------------------------

BodyBuilder::BodyBuilder(std::string item_path, std::string name)
    : item_path_(std::move(item_path)), name_(std::move(name)) {}

ExprId BodyBuilder::expr(Value value, DataType wanted) {
  value = value.as(wanted);
  switch (value.kind_) {
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
  body_.locals.push_back({std::move(name)});
  return LocalId{body_.locals.size() - 1};
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

Value& update(Operation op, Value& local, Value value) {
  BodyBuilder* owner = local.owner_ != nullptr ? local.owner_ : value.owner_;
  if (owner == nullptr) return local = Value::wrong<message::assigned_expression>("");
  owner->assign(local, apply(op, local, value));
  return local;
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
  for (std::size_t i = open_.size(); i-- > 0;) close_block(body, open_[i]);
  for (const Misuse& misuse : misuses_) {
    Diagnostic& diagnostic = diagnostics.emplace_back(misuse.diagnostic);
    diagnostic.path = item_path_;
    if (misuse.stmt < body.stmts.size())
      diagnostic.path += ": " + path_of(body, StmtId{misuse.stmt});
  }
  if (!open_.empty()) {
    diagnostics.push_back(diagnose<message::unclosed_block>(name_, open_.size()));
    diagnostics.back().path = item_path_;
  }
  // An atomic's result that no expression uses is not a local. Only reachable expressions
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
    : BodyBuilder("program " + name, name) {
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
  statement.result = declare(kUnnamed);
  body_.stmts.push_back(statement);
  return local_value(statement.result, type);
}

void Builder::return_() { body_.stmts.push_back(Return{}); }
void Builder::barrier() { body_.stmts.push_back(Barrier{}); }

Result<Linked> Builder::finish() const {
  std::vector<Diagnostic> diagnostics;
  Program program{name_, workgroup_size_, buffers_, finished_body(0, diagnostics)};
  number_bindings(program.buffers, bound_);
  for (Diagnostic& diagnostic : validate(program, registry_)) {
    diagnostics.push_back(std::move(diagnostic));
  }
  if (!diagnostics.empty()) return diagnostics;
  return link_valid(std::move(program), registry_);
}

// --- Ops -----------------------------------------------------------------------------------------

OpBuilder::OpBuilder(std::string id, DataType output) : BodyBuilder("op " + id, id) {
  op_.id = std::move(id);
  op_.signature.output = output;
  if (output == DataType::Unknown) misuse<message::no_type>(name_);
}

Value OpBuilder::add_parameter(std::string name, DataType type) {
  if (body_.locals.size() != op_.signature.inputs.size()) {
    misuse<message::late_parameter>(name_);
    return make(interner_.local({}), type);
  }
  if (type == DataType::Unknown) misuse<message::no_type>(name);
  op_.signature.inputs.push_back(type);
  return local_value(declare(std::move(name)), type);
}

void OpBuilder::describe(std::string description) { op_.description = std::move(description); }

void OpBuilder::return_(Value value) {
  body_.stmts.push_back(Return{expr(value, op_.signature.output)});
}

Result<Op> OpBuilder::finish() const {
  std::vector<Diagnostic> diagnostics;
  Op op = op_;
  op.body = finished_body(size32(op.signature.inputs), diagnostics);
  for (Diagnostic& diagnostic : validate(Module{{op}}, registry_)) {
    diagnostics.push_back(std::move(diagnostic));
  }
  if (!diagnostics.empty()) return diagnostics;
  return op;
}

}  // namespace vyre
