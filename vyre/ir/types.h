// Types, and the facts about them that everybody needs. The rows are in types.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vyre {

// Enums with a table of facts are in a namespace of their own, where info() of an enumerator is
// found without saying so: `using namespace vyre` leaves the name `info` free.
namespace tables {

// The value of an enumerator is its tag in the wire format. The type of an array is none of them:
// it is that of its elements and their number, see array_type().
enum class DataType : std::uint32_t {
  Unknown = 0,  // the type of an expression that is wrong or not resolved yet
#define TYPE(name, text, tag, ...) name = tag,
#include "vyre/ir/types.def"
};

enum class NumberKind : std::uint8_t { Unsigned, Signed, Float };

struct TypeInfo {
  DataType type;
  std::string_view name;  // "Vec2U32", in fixes that quote the specification
  std::string_view text;  // "vec2u32", in programs
  std::uint8_t bytes;
  std::uint8_t lanes;
  std::uint8_t width;
  NumberKind kind;
  DataType value;
};

inline constexpr TypeInfo kTypeRows[] = {
#define TYPE(name, text, tag, bytes, lanes, width, kind, value) \
  {DataType::name, #name, text, bytes, lanes, width, NumberKind::kind, DataType::value},
#include "vyre/ir/types.def"
};

// By tag; some tags are still free.
inline constexpr std::size_t kTypeTags = 32;
inline constexpr auto kTypesByTag = [] {
  std::array<TypeInfo, kTypeTags> types;
  types.fill({DataType::Unknown, "Unknown", "?", 0, 0, 0, NumberKind::Unsigned, DataType::Unknown});
  for (const TypeInfo& row : kTypeRows) types[static_cast<std::size_t>(row.type)] = row;
  return types;
}();
// An array has none of the facts of its elements: no operation takes it.
constexpr const TypeInfo& info(DataType type) {
  const auto tag = static_cast<std::size_t>(type);
  return kTypesByTag[tag < kTypeTags ? tag : 0];
}
inline std::string_view text(DataType type) { return info(type).text; }
std::string argument_text(DataType type);  // also of arrays: "u32[8]"

}  // namespace tables
using tables::DataType;
using tables::kTypeRows;
using tables::kTypesByTag;
using tables::kTypeTags;
using tables::NumberKind;
using tables::text;
using tables::TypeInfo;

constexpr std::span<const TypeInfo> all_types() { return kTypeRows; }
std::optional<DataType> find_type(std::string_view text);
std::optional<DataType> type_of_tag(std::uint32_t tag);

// The least number of bytes a value of this type takes in a buffer.
constexpr std::uint32_t min_bytes(DataType type) { return info(type).bytes; }

// How many 32-bit words of a Bits hold a value of this type; a smaller one fills the first in part.
constexpr std::uint32_t words(DataType type) { return (min_bytes(type) + 3) / 4; }

constexpr bool is_wide(DataType type) { return words(type) > 1; }

// How many numbers a value holds, and the bits that each takes in memory.
constexpr std::uint32_t lane_count(DataType type) { return info(type).lanes; }
constexpr std::uint32_t lane_bits(DataType type) {
  return lane_count(type) == 0 ? 0 : min_bytes(type) * 8 / lane_count(type);
}

// The distance of two elements in a buffer: Bytes buffers are sequences of words.
constexpr std::uint32_t stride(DataType element) {
  return element == DataType::Bytes ? 4 : min_bytes(element);
}

// The type that a load from a buffer with this element gives and a store to it takes.
constexpr DataType loaded_type(DataType element) { return info(element).value; }

// Whether a value may have it; an element of a buffer may have any type that is no array.
constexpr bool is_value_type(DataType type) { return loaded_type(type) == type; }

// Elements that are smaller than the values that are loaded from them: u8, u16, i8 and i16.
constexpr bool is_narrow(DataType element) {
  return element != DataType::Bytes && min_bytes(element) < min_bytes(loaded_type(element));
}

constexpr bool is_vector(DataType type) { return lane_count(type) > 1; }

// --- Arrays -------------------------------------------------------------------------------------

inline constexpr std::uint32_t kMaxArrayCount = 4096;
inline constexpr std::uint32_t kMaxArrayBytes = 16 << 10;
inline constexpr std::uint32_t kMaxBodyArrays = 64 << 10;    // bytes of the arrays of a body
inline constexpr std::uint32_t kMaxArrayMemory = 256 << 10;  // and when its calls are expanded
inline constexpr std::uint32_t kMaxTableCount = 65536;
inline constexpr std::uint32_t kMaxTableBytes = 256 << 10;

// The type of `count` elements. Elements are values; those of a table may also be of a type that no
// value has, and are as long in memory.
constexpr DataType array_type(DataType element, std::uint32_t count) {
  return static_cast<DataType>(static_cast<std::uint32_t>(element) | count << 8);
}
constexpr std::uint32_t element_count(DataType array) {
  return static_cast<std::uint32_t>(array) >> 8;
}
constexpr bool is_array(DataType type) { return element_count(type) != 0; }
constexpr DataType element_type(DataType array) {
  return static_cast<DataType>(static_cast<std::uint32_t>(array) & 0xff);
}

// Whether locals, parameters and results may have it.
constexpr bool is_variable_type(DataType type) {
  const DataType element = element_type(type);
  return element != DataType::Unknown && info(element).value == element &&
         element_count(type) <= kMaxArrayCount &&
         element_count(type) * info(element).bytes <= kMaxArrayBytes;
}
constexpr bool has_sign(DataType type) { return info(type).kind == NumberKind::Signed; }

// A set of types, one bit for each tag.
using TypeSet = std::uint32_t;
constexpr TypeSet type_set() { return 0; }
template <class... Types>
constexpr TypeSet type_set(DataType first, Types... rest) {
  return (TypeSet{1} << static_cast<unsigned>(first)) | type_set(rest...);
}
constexpr bool contains(TypeSet set, DataType type) {
  return !is_array(type) && ((set >> static_cast<unsigned>(type)) & 1) != 0;
}
std::string list_of(TypeSet set);  // "u32, i32 or bool"

// The sets that tables name.
namespace type_sets {
using enum DataType;
constexpr TypeSet types_that(bool (*fit)(const TypeInfo&)) {
  TypeSet set = 0;
  for (const TypeInfo& row : kTypeRows) {
    set |= row.value == row.type && fit(row) ? type_set(row.type) : 0;
  }
  return set;
}
inline constexpr TypeSet Int =
    types_that([](const TypeInfo& t) { return t.kind != NumberKind::Float && t.width > 1; });
inline constexpr TypeSet IntOrBool = Int | type_set(Bool);
inline constexpr TypeSet Truth = type_set(U32, Bool);
inline constexpr TypeSet Unsigned =
    Int & types_that([](const TypeInfo& t) { return t.kind == NumberKind::Unsigned; });
inline constexpr TypeSet Scalar = Int & types_that([](const TypeInfo& t) { return t.lanes == 1; });
inline constexpr TypeSet HighHalf =
    Unsigned & types_that([](const TypeInfo& t) { return t.width <= 64; });
// What collectives combine.
inline constexpr TypeSet Combined =
    Scalar & types_that([](const TypeInfo& t) { return t.width <= 64; });
// What atomics update, and affine indices are made of.
inline constexpr TypeSet Word =
    Scalar & types_that([](const TypeInfo& t) { return t.width == 32; });
}  // namespace type_sets

// The cast table: what a type can be cast to.
TypeSet cast_targets(DataType source);
inline bool cast_exists(DataType source, DataType target) {
  return contains(cast_targets(source), target);
}

// --- Buffers ------------------------------------------------------------------------------------

// Private and Constant memory is not declared: it is what the arrays and tables of a program become
// when its calls are expanded. Each invocation has its own private memory, which holds anything
// when it starts.
enum class BufferAccess : std::uint8_t {
  ReadOnly = 1,
  ReadWrite = 2,
  Uniform = 3,
  Workgroup = 4,
  Private = 5,
  Constant = 6,
};

// Whether the host gives it.
constexpr bool is_bound(BufferAccess access) {
  switch (access) {
    case BufferAccess::ReadOnly:
    case BufferAccess::ReadWrite:
    case BufferAccess::Uniform: return true;
    case BufferAccess::Workgroup:
    case BufferAccess::Private:
    case BufferAccess::Constant: return false;
  }
  return false;
}

// Whether it is an array or a table, which the inliner adds after the buffers that a program
// declares.
constexpr bool is_added(BufferAccess access) {
  return access == BufferAccess::Private || access == BufferAccess::Constant;
}

// As they are declared; what is not declared has names for messages.
inline constexpr std::string_view kAccessTexts[] = {"read", "read_write", "uniform", "workgroup"};
inline std::string_view text(BufferAccess access) {
  switch (access) {
    case BufferAccess::ReadOnly:
    case BufferAccess::ReadWrite:
    case BufferAccess::Uniform:
    case BufferAccess::Workgroup: return kAccessTexts[static_cast<std::size_t>(access) - 1];
    case BufferAccess::Private: return "private";
    case BufferAccess::Constant: return "constant";
  }
  return {};
}

inline constexpr std::uint32_t kMaxUniformBytes = 64 << 10;

// Bytes that never change. Copies share them.
class Contents {
 public:
  Contents() = default;
  explicit Contents(std::vector<std::byte> bytes)
      : bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}

  const std::vector<std::byte>& bytes() const {
    static const std::vector<std::byte> none;
    return bytes_ == nullptr ? none : *bytes_;
  }

  friend bool operator==(const Contents& a, const Contents& b) {
    return a.bytes_ == b.bytes_ || a.bytes() == b.bytes();
  }

 private:
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

struct BufferDecl {
  std::string name;
  std::uint32_t binding = 0;  // 0 for workgroup buffers, which have none
  BufferAccess access = BufferAccess::ReadOnly;
  DataType element = DataType::U32;
  std::uint32_t count = 0;  // elements (words for Bytes); 0 means sized at dispatch
  Contents contents = {};   // of Constant memory

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

// How many of them a program declares.
inline std::size_t count_declared(const std::vector<BufferDecl>& buffers) {
  std::size_t count = buffers.size();
  while (count > 0 && is_added(buffers[count - 1].access)) --count;
  return count;
}

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

}  // namespace vyre
