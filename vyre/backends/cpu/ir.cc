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
  f64 = api.DoubleTypeInContext(context_);
  nothing = api.VoidTypeInContext(context_);
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

Ir::Value Ir::splat_number(Type element, std::uint64_t value) { return ramp(element, value, 0); }

Ir::Value Ir::like(Value like, unsigned bits, std::uint64_t value) {
  return is_vector(like) ? splat_number(integer(bits), value) : number(integer(bits), value);
}

Ir::Value Ir::ramp(Type element, std::uint64_t first, std::uint64_t step) {
  std::vector<Value> lanes;
  for (unsigned i = 0; i < width_; ++i) lanes.push_back(number(element, first + i * step));
  return api_.ConstVector(lanes.data(), width_);
}

Ir::Value Ir::splat(Value scalar) {
  if (is_constant(scalar)) {
    std::vector<Value> lanes(width_, scalar);
    return api_.ConstVector(lanes.data(), width_);
  }
  const Type whole = vector(type(scalar));
  const Value first = api_.BuildInsertElement(builder_, api_.GetPoison(whole), scalar, word(0), "");
  return api_.BuildShuffleVector(builder_, first, api_.GetPoison(whole), zero(vector(i32)), "");
}

Ir::Value Ir::shuffle(Value a, Value b, std::span<const unsigned> lanes) {
  std::vector<Value> mask;
  for (unsigned lane : lanes) mask.push_back(word(lane));
  return api_.BuildShuffleVector(
      builder_, a, b, api_.ConstVector(mask.data(), static_cast<unsigned>(mask.size())), "");
}

Ir::Type Ir::sized(Value like, unsigned bits) {
  const Type of = type(like);
  return is_vector_type(of) ? vector(integer(bits), api_.GetVectorSize(of)) : integer(bits);
}

Ir::Value Ir::call(std::string_view intrinsic, std::initializer_list<Value> args) {
  Type of = type(*args.begin());
  return call(intrinsic, {&of, 1}, args);
}

Ir::Value Ir::call(std::string_view intrinsic, std::span<Type> types,
                   std::initializer_list<Value> args) {
  const unsigned id = api_.LookupIntrinsicID(intrinsic.data(), intrinsic.size());
  std::vector<Value> list(args);
  return api_.BuildCall2(builder_, api_.IntrinsicGetType(context_, id, types.data(), types.size()),
                         api_.GetIntrinsicDeclaration(module_, id, types.data(), types.size()),
                         list.data(), static_cast<unsigned>(list.size()), "");
}

Ir::Value Ir::opaque(Value number) {
  Type of = type(number);
  const Type function = api_.FunctionType(of, &of, 1, 0);
  const Value empty = api_.GetInlineAsm(function, "", 0, "=r,0", 4, 0, 0, 0, 0);
  return api_.BuildCall2(builder_, function, empty, &number, 1, "");
}

bool Ir::is_constant_splat(Value vector) {
  if (!is_constant(vector)) return false;
  const Value first = api_.GetAggregateElement(vector, 0);
  for (unsigned lane = 1; lane < width_; ++lane) {
    if (api_.GetAggregateElement(vector, lane) != first) return false;
  }
  return true;
}

Ir::Value Ir::hidden(Type type, std::uint64_t value) {
  Value& made = hidden_[{type, value}];
  if (made == nullptr) made = in_entry([&] { return opaque(number(type, value)); });
  return made;
}

Ir::Value Ir::load(Type type, Value from, unsigned align) {
  const Value value = api_.BuildLoad2(builder_, type, from, "");
  if (align != 0) api_.SetAlignment(value, align);
  return value;
}

Ir::Value Ir::store(Value value, Value to, unsigned align) {
  const Value done = api_.BuildStore(builder_, value, to);
  if (align != 0) api_.SetAlignment(done, align);
  return done;
}

// Past the caches.
void Ir::mark_nontemporal(Value store) {
  llvm::Metadata one = api_.ValueAsMetadata(word(1));
  const Value node = api_.MetadataAsValue(context_, api_.MDNodeInContext2(context_, &one, 1));
  constexpr std::string_view kKind = "nontemporal";
  const unsigned kind =
      api_.GetMDKindIDInContext(context_, kKind.data(), static_cast<unsigned>(kKind.size()));
  api_.SetMetadata(store, kind, node);
}

Ir::Value Ir::phi(Type type, std::initializer_list<std::pair<Value, Block>> from) {
  const Value made = api_.BuildPhi(builder_, type, "");
  for (auto [value, block] : from) api_.AddIncoming(made, &value, &block, 1);
  return made;
}

Ir::Value Ir::declare(const char* name, std::span<Type> parameters, bool is_exported) {
  const Type type =
      api_.FunctionType(nothing, parameters.data(), static_cast<unsigned>(parameters.size()), 0);
  const Value function = api_.AddFunction(module_, name, type);
  if (!is_exported) api_.SetLinkage(function, llvm::kInternal);
  return function;
}

void Ir::call_function(Value function, std::span<const Value> args) {
  std::vector<Value> list(args.begin(), args.end());
  std::vector<Type> types;
  for (Value arg : args) types.push_back(type(arg));
  const auto count = static_cast<unsigned>(list.size());
  api_.BuildCall2(builder_, api_.FunctionType(nothing, types.data(), count, 0), function,
                  list.data(), count, "");
}

void Ir::begin(Value function) {
  function_ = function;
  entry_ = block("locals");
  hidden_.clear();
  go_on(entry_);
}

void Ir::attribute(Value function, unsigned index, const char* name) {
  const std::string_view text = name;
  const unsigned kind = api_.GetEnumAttributeKindForName(text.data(), text.size());
  api_.AddAttributeAtIndex(function, index, api_.CreateEnumAttribute(context_, kind, 0));
}

void Ir::attribute(Value function, const char* key, const std::string& value) {
  const std::string_view name = key;
  api_.AddAttributeAtIndex(
      function, kFunction,
      api_.CreateStringAttribute(context_, name.data(), static_cast<unsigned>(name.size()),
                                 value.data(), static_cast<unsigned>(value.size())));
}

}  // namespace vyre
