#include "vyre/backends/cpu/ir.h"

#include <cstdlib>

namespace vyre {

Ir::Ir(const llvm::Api& api, unsigned width, const char* name)
    : api_(api),
      width_(width),
      context_(api.ContextCreate()),
      module_(api.ModuleCreateWithNameInContext(name, context_)),
      builder_(api.CreateBuilderInContext(context_)) {
  api.ContextSetDiagnosticHandler(
      context_,
      [](llvm::Diagnostic diagnostic, void* ir) { static_cast<Ir*>(ir)->note(diagnostic); }, this);
  boolean = integer(1);
  i8 = integer(8);
  i32 = integer(32);
  i64 = integer(64);
}

Ir::~Ir() {
  api_.DisposeBuilder(builder_);
  api_.DisposeModule(module_);
  api_.ContextDispose(context_);
}

// "stack frame size (128) exceeds limit (0) in function 'name'"
void Ir::note(llvm::Diagnostic diagnostic) {
  char* message = api_.GetDiagInfoDescription(diagnostic);
  const std::string_view text = message;
  constexpr std::string_view kBegin = "stack frame size (";
  if (api_.GetDiagInfoSeverity(diagnostic) == llvm::kError) {
    problem_ = text;
  } else if (text.starts_with(kBegin) && text.ends_with('\'')) {
    const std::string_view rest = text.substr(0, text.size() - 1);
    frames_[std::string(rest.substr(rest.rfind('\'') + 1))] =
        std::strtoull(message + kBegin.size(), nullptr, 10);
  }
  api_.DisposeMessage(message);
}

// --- Constants and vectors

Ir::Value Ir::ramp(Type element, unsigned lanes, std::uint64_t first, std::uint64_t step) {
  std::vector<llvm::Value> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(number(element, first + i * step).raw_);
  return constant_vector(std::move(numbers));
}

bool Ir::is_constant_splat(Value vector) {
  if (!is_constant(vector)) return false;
  const Value first = constant_lane(vector, 0);
  for (unsigned lane = 1; lane < width_; ++lane) {
    if (constant_lane(vector, lane) != first) return false;
  }
  return true;
}

Ir::Value Ir::vector_of(std::span<const std::uint32_t> words) {
  std::vector<llvm::Value> lanes;
  for (std::uint32_t each : words) lanes.push_back(word(each).raw_);
  return constant_vector(std::move(lanes));
}

Ir::Value Ir::constant_memory(Value value, const char* name) {
  const Value memory{this, api_.AddGlobal(module_, type(value), name)};
  api_.SetInitializer(memory.raw_, value.raw_);
  api_.SetGlobalConstant(memory.raw_, 1);
  api_.SetLinkage(memory.raw_, llvm::kPrivate);
  return memory;
}

Ir::Value Ir::constant_memory(std::span<const std::byte> bytes, unsigned align, const char* name) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const Value memory = constant_memory(
      Value{this,
            api_.ConstStringInContext(context_, text, static_cast<unsigned>(bytes.size()), 1)},
      name);
  api_.SetAlignment(memory.raw_, align);
  return memory;
}

Ir::Value Ir::splat(Value value) {
  if (is_vector(value)) return value;
  if (is_constant(value)) return constant_vector(std::vector(width_, value.raw_));
  const Value none = poison(vector(type(value)));
  return shuffle(with_lane(none, word(0), value), none, std::vector<unsigned>(width_));
}

Ir::Value Ir::shuffle(Value a, Value b, std::span<const unsigned> lanes) {
  std::vector<llvm::Value> mask;
  for (unsigned lane : lanes) mask.push_back(word(lane).raw_);
  const Value order = constant_vector(std::move(mask));
  return {this, api_.BuildShuffleVector(builder_, a.raw_, b.raw_, order.raw_, "")};
}

Ir::Type Ir::sized(Value like, unsigned bits) {
  const Type of = type(like);
  return is_vector_type(of) ? vector(integer(bits), api_.GetVectorSize(of)) : integer(bits);
}

Ir::Value Ir::like(Value first, Operand given) {
  if (given.value_) return given.value_;
  const Type of = type(first);
  if (!is_vector_type(of)) return number(of, given.number_);
  return ramp(api_.GetElementType(of), api_.GetVectorSize(of), given.number_, 0);
}

// --- Operations

Ir::Value Ir::call(std::string_view intrinsic, std::initializer_list<Type> types,
                   std::initializer_list<Value> args) {
  const unsigned id = api_.LookupIntrinsicID(intrinsic.data(), intrinsic.size());
  std::vector<Type> named(types);
  return call(api_.IntrinsicGetType(context_, id, named.data(), named.size()),
              api_.GetIntrinsicDeclaration(module_, id, named.data(), named.size()), args);
}

Ir::Value Ir::call(Type function_type, llvm::Value function, std::span<const Value> args) {
  std::vector<llvm::Value> list;
  for (Value arg : args) list.push_back(arg.raw_);
  return {this, api_.BuildCall2(builder_, function_type, function, list.data(),
                                static_cast<unsigned>(list.size()), "")};
}

Ir::Value Ir::divide_as_doubles(Value a, Value b) {
  const Type doubles = vector(api_.DoubleTypeInContext(context_));
  const Value top = cast(&llvm::Api::BuildUIToFP, a, doubles);
  const Value quotient =
      apply(&llvm::Api::BuildFDiv, top, cast(&llvm::Api::BuildUIToFP, b, doubles));
  return cast(&llvm::Api::BuildFPToUI, quotient, type(a));
}

Ir::Value Ir::opaque(Value number) {
  Type of = type(number);
  const Type function = api_.FunctionType(of, &of, 1, 0);
  return call(function, api_.GetInlineAsm(function, "", 0, "=r,0", 4, 0, 0, 0, 0), {&number, 1});
}

Ir::Value Ir::hidden(Type type, std::uint64_t value) {
  Value& made = hidden_[{type, value}];
  if (!made) made = in_entry([&] { return opaque(number(type, value)); });
  return made;
}

// --- Memory

Ir::Value Ir::at(Type element, Value base, Operand index) {
  llvm::Value place = index.value_ ? index.value_.raw_ : wide(index.number_).raw_;
  return {this, api_.BuildGEP2(builder_, element, base.raw_, &place, 1, "")};
}

Ir::Value Ir::load(Type type, Value from, unsigned align) {
  const Value value{this, api_.BuildLoad2(builder_, type, from.raw_, "")};
  if (align != 0) api_.SetAlignment(value.raw_, align);
  return value;
}

Ir::Value Ir::store(Value value, Value to, unsigned align) {
  const Value done{this, api_.BuildStore(builder_, value.raw_, to.raw_)};
  if (align != 0) api_.SetAlignment(done.raw_, align);
  return done;
}

// Past the caches.
void Ir::mark_nontemporal(Value store) {
  llvm::Metadata one = api_.ValueAsMetadata(word(1).raw_);
  const llvm::Value node = api_.MetadataAsValue(context_, api_.MDNodeInContext2(context_, &one, 1));
  constexpr std::string_view kKind = "nontemporal";
  const unsigned kind =
      api_.GetMDKindIDInContext(context_, kKind.data(), static_cast<unsigned>(kKind.size()));
  api_.SetMetadata(store.raw_, kind, node);
}

Ir::Value Ir::update(llvm::Rmw how, Value pointer, Value value) {
  return {this, api_.BuildAtomicRMW(builder_, static_cast<int>(how), pointer.raw_, value.raw_,
                                    llvm::kSequential, 0)};
}

Ir::Value Ir::compare_exchange(Value pointer, Value expected, Value value) {
  const llvm::Value both = api_.BuildAtomicCmpXchg(
      builder_, pointer.raw_, expected.raw_, value.raw_, llvm::kSequential, llvm::kSequential, 0);
  return {this, api_.BuildExtractValue(builder_, both, 0, "")};
}

// --- Functions

Ir::Value Ir::declare(const char* name, std::span<Type> parameters, bool is_exported) {
  const Type type = api_.FunctionType(api_.VoidTypeInContext(context_), parameters.data(),
                                      static_cast<unsigned>(parameters.size()), 0);
  const Value function{this, api_.AddFunction(module_, name, type)};
  if (!is_exported) api_.SetLinkage(function.raw_, llvm::kInternal);
  return function;
}

void Ir::call_function(Value function, std::span<const Value> args) {
  call(api_.GlobalGetValueType(function.raw_), function.raw_, args);
}

void Ir::begin(Value function) {
  function_ = function.raw_;
  entry_ = block("locals");
  hidden_.clear();
  go_on(entry_);
}

void Ir::attribute(Value function, unsigned index, std::string_view name) {
  const unsigned kind = api_.GetEnumAttributeKindForName(name.data(), name.size());
  api_.AddAttributeAtIndex(function.raw_, index, api_.CreateEnumAttribute(context_, kind, 0));
}

void Ir::attribute(Value function, std::string_view key, std::string_view value) {
  api_.AddAttributeAtIndex(
      function.raw_, kFunction,
      api_.CreateStringAttribute(context_, key.data(), static_cast<unsigned>(key.size()),
                                 value.data(), static_cast<unsigned>(value.size())));
}

}  // namespace vyre
