// Types, and the facts about them that everybody needs. The rows are in types.def.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vyre {

// The value of an enumerator is its tag in the wire format.
enum class DataType : std::uint8_t {
  Unknown = 0,  // the type of an expression that is wrong or not resolved yet
#define TYPE(name, text, tag, bytes, lanes, width) name = tag,
#include "vyre/ir/types.def"
};

struct TypeInfo {
  DataType type;
  std::string_view name;  // "Vec2U32", in fixes that quote the specification
  std::string_view text;  // "vec2u32", in programs
  std::uint8_t bytes;
  std::uint8_t lanes;
  std::uint8_t width;
};

std::span<const TypeInfo> all_types();
const TypeInfo& info(DataType type);
std::optional<DataType> find_type(std::string_view text);
std::optional<DataType> type_of_tag(std::uint32_t tag);

inline std::string_view text(DataType type) { return info(type).text; }
inline std::string argument_text(DataType type) { return std::string(text(type)); }

// The least number of bytes a value of this type takes in a buffer.
inline constexpr std::uint8_t kMinBytes[] = {
    0,  // Unknown; the rows are in the order of their tags
#define TYPE(name, text, tag, bytes, lanes, width) bytes,
#include "vyre/ir/types.def"
};
inline std::uint32_t min_bytes(DataType type) { return kMinBytes[static_cast<std::size_t>(type)]; }

// The distance of two elements in a buffer: Bytes buffers are sequences of words.
inline std::uint32_t stride(DataType element) {
  return element == DataType::Bytes ? 4 : min_bytes(element);
}

// The type that a load from a buffer with this element gives and a store to it takes.
inline DataType loaded_type(DataType element) {
  return element == DataType::Bytes ? DataType::U32 : element;
}

inline bool is_vector(DataType type) {
  return type == DataType::Vec2U32 || type == DataType::Vec4U32;
}

// A set of types, one bit for each tag.
using TypeSet = std::uint32_t;
constexpr TypeSet type_set() { return 0; }
template <class... Types>
constexpr TypeSet type_set(DataType first, Types... rest) {
  return (TypeSet{1} << static_cast<unsigned>(first)) | type_set(rest...);
}
constexpr bool contains(TypeSet set, DataType type) {
  return (set >> static_cast<unsigned>(type)) & 1;
}
std::string list_of(TypeSet set);  // "u32, i32 or bool"

// The sets that tables name.
namespace type_sets {
using enum DataType;
inline constexpr TypeSet Int = type_set(U32, I32, U64, U128, Vec2U32, Vec4U32);
inline constexpr TypeSet IntOrBool = Int | type_set(Bool);
inline constexpr TypeSet Truth = type_set(U32, Bool);
inline constexpr TypeSet Unsigned = type_set(U32, U64, U128, Vec2U32, Vec4U32);
inline constexpr TypeSet Scalar = type_set(U32, I32, U64, U128);
inline constexpr TypeSet HighHalf = type_set(U32, U64, Vec2U32, Vec4U32);
}  // namespace type_sets

// The cast table: what a type can be cast to.
TypeSet cast_targets(DataType source);
inline bool cast_exists(DataType source, DataType target) {
  return contains(cast_targets(source), target);
}

// --- Buffers ------------------------------------------------------------------------------------

enum class BufferAccess : std::uint8_t { ReadOnly = 1, ReadWrite = 2, Uniform = 3, Workgroup = 4 };

std::string_view text(BufferAccess access);  // "read", "read_write", "uniform", "workgroup"

inline constexpr std::uint32_t kMaxUniformBytes = 64 << 10;

struct BufferDecl {
  std::string name;
  std::uint32_t binding = 0;  // 0 for workgroup buffers, which have none
  BufferAccess access = BufferAccess::ReadOnly;
  DataType element = DataType::U32;
  std::uint32_t count = 0;  // elements (words for Bytes); 0 means sized at dispatch

  static BufferDecl storage(std::string name, std::uint32_t binding, BufferAccess access,
                            DataType element, std::uint32_t count = 0) {
    return {std::move(name), binding, access, element, count};
  }
  static BufferDecl uniform(std::string name, std::uint32_t binding, DataType element,
                            std::uint32_t count = 0) {
    return {std::move(name), binding, BufferAccess::Uniform, element, count};
  }
  static BufferDecl workgroup(std::string name, DataType element, std::uint32_t count) {
    return {std::move(name), 0, BufferAccess::Workgroup, element, count};
  }

  friend bool operator==(const BufferDecl&, const BufferDecl&) = default;
};

// Gives the next free numbers, in order, to the buffers that have no binding of their own. A number
// that any of them has is not free.
void number_bindings(std::vector<BufferDecl>& buffers, const std::vector<bool>& bound);

// --- Contracts ----------------------------------------------------------------------------------

struct OpSignature {
  std::vector<DataType> inputs;
  DataType output = DataType::Unknown;

  // The bytes that one value of each input takes together.
  std::uint32_t min_input_bytes() const;

  friend bool operator==(const OpSignature&, const OpSignature&) = default;
};

// How a host wires a program's buffers; named when a pipeline is made, not part of the program.
struct Convention {
  // Input (read), output (read_write), params (uniform).
  struct V1 {
    friend bool operator==(V1, V1) = default;
  };
  // V1 plus a lookup table (read) at a binding of its own.
  struct V2 {
    std::uint32_t lookup_binding = 0;
    friend bool operator==(V2, V2) = default;
  };
  std::variant<V1, V2> version;

  friend bool operator==(const Convention&, const Convention&) = default;
};

}  // namespace vyre
