// Facts about types, buffers, signatures and conventions, and the tables behind them: what the
// wire format and the specification have fixed for good is written out here a second time.
#include "vyre/ir/types.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "vyre/ir/ops.h"
#include "vyre/runtime/convention.h"

namespace vyre {
namespace {

using enum DataType;

TEST(Types, MinBytes) {
  EXPECT_EQ(min_bytes(U32), 4u);
  EXPECT_EQ(min_bytes(I32), 4u);
  EXPECT_EQ(min_bytes(U64), 8u);
  EXPECT_EQ(min_bytes(U128), 16u);
  EXPECT_EQ(min_bytes(Vec2U32), 8u);
  EXPECT_EQ(min_bytes(Vec4U32), 16u);
  EXPECT_EQ(min_bytes(Bool), 4u);
  EXPECT_EQ(min_bytes(Bytes), 0u);
}

TEST(Types, BytesBuffersAreWords) {
  EXPECT_EQ(stride(Bytes), 4u);
  EXPECT_EQ(loaded_type(Bytes), U32);
  for (const TypeInfo& row : all_types()) {
    if (row.type == Bytes) continue;
    EXPECT_EQ(stride(row.type), row.bytes) << row.text;
    EXPECT_EQ(loaded_type(row.type), row.type) << row.text;
  }
}

TEST(Types, LanesAndWidthsFillTheBytes) {
  for (const TypeInfo& row : all_types()) {
    if (row.type == Bool) continue;  // one bit in a word
    EXPECT_EQ(row.lanes * row.width, row.bytes * 8) << row.text;
  }
  EXPECT_EQ(info(Bool).lanes, 1);
  EXPECT_EQ(info(Bool).width, 1);
}

TEST(Types, Kinds) {
  for (const TypeInfo& row : all_types()) {
    EXPECT_EQ(is_vector(row.type), row.type == Vec2U32 || row.type == Vec4U32) << row.text;
    EXPECT_EQ(has_sign(row.type), row.type == I32) << row.text;
    EXPECT_EQ(words(row.type), row.bytes / 4) << row.text;
    EXPECT_EQ(is_wide(row.type), row.bytes > 4) << row.text;
  }
  EXPECT_EQ(lane_bits(Bool), 32u);
  EXPECT_EQ(lane_bits(Vec4U32), 32u);
  EXPECT_EQ(lane_bits(U128), 128u);
}

struct TypeRow {
  std::uint32_t tag;
  DataType type;
  std::string_view name, text;
};

constexpr TypeRow kTypes[] = {
    {1, U32, "U32", "u32"},
    {2, I32, "I32", "i32"},
    {3, U64, "U64", "u64"},
    {4, Vec2U32, "Vec2U32", "vec2u32"},
    {5, Vec4U32, "Vec4U32", "vec4u32"},
    {6, Bool, "Bool", "bool"},
    {7, Bytes, "Bytes", "bytes"},
    {8, U128, "U128", "u128"},
};

TEST(Types, TagsAndNames) {
  EXPECT_EQ(all_types().size(), std::size(kTypes));
  for (const TypeRow& row : kTypes) {
    EXPECT_EQ(type_of_tag(row.tag), row.type) << row.text;
    EXPECT_EQ(static_cast<std::uint32_t>(row.type), row.tag) << row.text;
    EXPECT_EQ(find_type(row.text), row.type) << row.text;
    EXPECT_EQ(info(row.type).type, row.type) << row.text;
    EXPECT_EQ(info(row.type).name, row.name);
    EXPECT_EQ(text(row.type), row.text);
  }
  for (std::uint32_t tag : {0u, 9u, 12u, 255u, 256u + 1u, 0xFFFFFFFFu}) {
    EXPECT_EQ(type_of_tag(tag), std::nullopt) << tag;
  }
  for (std::string_view other : {"", "?", "U32", "u3", "u320", "f32", "f16", "bf16", "tensor"}) {
    EXPECT_EQ(find_type(other), std::nullopt) << other;
  }
  EXPECT_EQ(text(Unknown), "?");
}

TEST(Types, Sets) {
  EXPECT_EQ(list_of(type_set()), "");
  EXPECT_EQ(list_of(type_set(U64)), "u64");
  EXPECT_EQ(list_of(type_set(I32, U32)), "u32 or i32");
  EXPECT_EQ(list_of(type_set(Bool, U32, I32)), "u32, i32 or bool");
  EXPECT_EQ(list_of(type_set(U32, I32, U64, U128)), "u32, i32, u64 or u128");
  EXPECT_TRUE(contains(type_set(U32, U128), U128));
  EXPECT_FALSE(contains(type_set(U32, U128), I32));
  EXPECT_FALSE(contains(type_set(U32, U128), Unknown));
}

// --- Casts --------------------------------------------------------------------------------------

TEST(Types, CastTable) {
  constexpr DataType order[] = {U32, I32, Bool, U64, U128, Vec2U32, Vec4U32, Bytes};
  // A row is a source; its columns are the targets in the same order.
  constexpr std::string_view table[] = {
      "xxxxxxx.",  // U32
      "xxxxxxx.",  // I32
      "xxxxxxx.",  // Bool
      "xxxxxx..",  // U64: not to Vec4U32
      "xxxxxxx.",  // U128
      "xxxxxx..",  // Vec2U32: not to Vec4U32
      "xxxxxxx.",  // Vec4U32
      ".......x",  // Bytes
  };
  ASSERT_EQ(all_types().size(), std::size(order));
  for (std::size_t source = 0; source < std::size(order); ++source) {
    for (std::size_t target = 0; target < std::size(order); ++target) {
      EXPECT_EQ(cast_exists(order[source], order[target]), table[source][target] == 'x')
          << text(order[source]) << " to " << text(order[target]);
    }
    EXPECT_FALSE(cast_exists(Unknown, order[source]));
    EXPECT_FALSE(cast_exists(order[source], Unknown));
  }
}

// --- Buffers and contracts ----------------------------------------------------------------------

TEST(BufferDecl, Kinds) {
  EXPECT_EQ(BufferDecl::storage("data", 0, BufferAccess::ReadWrite, U32).access,
            BufferAccess::ReadWrite);
  const BufferDecl storage = BufferDecl::storage("data", 3, BufferAccess::ReadWrite, U32);
  EXPECT_EQ(storage, (BufferDecl{"data", 3, BufferAccess::ReadWrite, U32, 0}));

  const BufferDecl uniform = BufferDecl::uniform("params", 2, Vec4U32, 8);
  EXPECT_EQ(uniform, (BufferDecl{"params", 2, BufferAccess::Uniform, Vec4U32, 8}));

  const BufferDecl workgroup = BufferDecl::workgroup("tile", U64, 64);
  EXPECT_EQ(workgroup, (BufferDecl{"tile", 0, BufferAccess::Workgroup, U64, 64}));
}

TEST(BufferDecl, Comparison) {
  const BufferDecl one = BufferDecl::storage("data", 0, BufferAccess::ReadWrite, U32);
  EXPECT_EQ(one, BufferDecl::storage("data", 0, BufferAccess::ReadWrite, U32));
  EXPECT_NE(one, BufferDecl::storage("date", 0, BufferAccess::ReadWrite, U32));
  EXPECT_NE(one, BufferDecl::storage("data", 1, BufferAccess::ReadWrite, U32));
  EXPECT_NE(one, BufferDecl::storage("data", 0, BufferAccess::ReadOnly, U32));
  EXPECT_NE(one, BufferDecl::storage("data", 0, BufferAccess::ReadWrite, I32));
  EXPECT_NE(one, BufferDecl::storage("data", 0, BufferAccess::ReadWrite, U32, 1));
}

TEST(BufferAccess, Texts) {
  EXPECT_EQ(text(BufferAccess::ReadOnly), "read");
  EXPECT_EQ(text(BufferAccess::ReadWrite), "read_write");
  EXPECT_EQ(text(BufferAccess::Uniform), "uniform");
  EXPECT_EQ(text(BufferAccess::Workgroup), "workgroup");
}

TEST(OpSignature, MinInputBytes) {
  EXPECT_EQ((OpSignature{{U32, U32}, U32}.min_input_bytes()), 8u);
  EXPECT_EQ((OpSignature{{}, U32}.min_input_bytes()), 0u);
  EXPECT_EQ((OpSignature{{U64, Vec4U32, Bool, Bytes}, U128}.min_input_bytes()), 28u);
}

TEST(Convention, Comparison) {
  const Convention v1{Convention::V1{}};
  const Convention v2{Convention::V2{.lookup_binding = 3}};
  EXPECT_EQ(std::get<Convention::V2>(v2.version).lookup_binding, 3u);
  EXPECT_EQ(Convention{}, v1);
  EXPECT_EQ(v2, Convention{Convention::V2{3}});
  EXPECT_NE(v2, Convention{Convention::V2{4}});
  EXPECT_NE(v1, v2);
  EXPECT_NE(v1, Convention{Convention::V2{}});
}

// --- Operations ---------------------------------------------------------------------------------

constexpr TypeSet kInt = type_set(U32, I32, U64, U128, Vec2U32, Vec4U32);
constexpr TypeSet kIntOrBool = kInt | type_set(Bool);
constexpr TypeSet kUnsigned = type_set(U32, U64, U128, Vec2U32, Vec4U32);
constexpr TypeSet kScalar = type_set(U32, I32, U64, U128);
constexpr TypeSet kTruth = type_set(U32, Bool);

struct OperationRow {
  std::uint32_t tag;
  std::string_view name, text;
  TypeSet types;
  std::string_view signature;  // for a scalar T; a vector V has V, V -> V
};

constexpr OperationRow kOperations[] = {
    {32, "Negate", "-", kInt, "T -> T"},
    {33, "BitNot", "~", kInt, "T -> T"},
    {34, "LogicalNot", "!", kTruth, "T -> U32"},
    {35, "Popcount", "popcount", kInt, "T -> U32"},
    {36, "Clz", "clz", kInt, "T -> U32"},
    {37, "Ctz", "ctz", kInt, "T -> U32"},
    {38, "ReverseBits", "reverse_bits", kInt, "T -> T"},
    {64, "Or", "||", kTruth, "T, T -> U32"},
    {65, "And", "&&", kTruth, "T, T -> U32"},
    {66, "Eq", "==", kIntOrBool, "T, T -> U32"},
    {67, "Ne", "!=", kIntOrBool, "T, T -> U32"},
    {68, "Lt", "<", kInt, "T, T -> U32"},
    {69, "Gt", ">", kInt, "T, T -> U32"},
    {70, "Le", "<=", kInt, "T, T -> U32"},
    {71, "Ge", ">=", kInt, "T, T -> U32"},
    {72, "BitOr", "|", kIntOrBool, "T, T -> T"},
    {73, "BitXor", "^", kIntOrBool, "T, T -> T"},
    {74, "BitAnd", "&", kIntOrBool, "T, T -> T"},
    {75, "Shl", "<<", kInt, "T, U32 -> T"},
    {76, "Shr", ">>", kInt, "T, U32 -> T"},
    {77, "Add", "+", kInt, "T, T -> T"},
    {78, "Sub", "-", kInt, "T, T -> T"},
    {79, "Mul", "*", kInt, "T, T -> T"},
    {80, "Div", "/", kInt, "T, T -> T"},
    {81, "Mod", "%", kInt, "T, T -> T"},
    {82, "Min", "min", kInt, "T, T -> T"},
    {83, "Max", "max", kInt, "T, T -> T"},
    {84, "AbsDiff", "abs_diff", kUnsigned, "T, T -> T"},
    {85, "MulHigh", "mul_high", type_set(U32, U64, Vec2U32, Vec4U32), "T, T -> T"},
    {86, "AddSat", "add_sat", kScalar, "T, T -> T"},
    {87, "SubSat", "sub_sat", kScalar, "T, T -> T"},
    {88, "RotateLeft", "rotl", kUnsigned, "T, U32 -> T"},
    {89, "RotateRight", "rotr", kUnsigned, "T, U32 -> T"},
};

struct FormRow {
  std::uint32_t tag;
  std::string_view name;
  int arity;
};

constexpr FormRow kForms[] = {
    {1, "Literal", 0},      {2, "Local", 0},       {3, "Load", 1},    {4, "Length", 0},
    {5, "InvocationId", 0}, {6, "WorkgroupId", 0}, {7, "LocalId", 0}, {8, "Select", 3},
    {9, "Cast", 1},         {10, "Vec2", 2},       {11, "Vec4", -1},  {12, "Lane", 1},
    {13, "Call", -1},
};

std::string signature_of(const OperationInfo& row, DataType type) {
  const auto name = [&](DataType t) { return t == type ? "T" : std::string(info(t).name); };
  const std::string second = row.arity == 2 ? ", " + name(second_operand(row.op, type)) : "";
  return "T" + second + " -> " + name(result_of(row.op, type));
}

TEST(Operations, AsSpecified) {
  for (const OperationRow& row : kOperations) {
    const std::optional<Operation> op = operation_of_tag(row.tag);
    ASSERT_TRUE(op) << row.name;
    EXPECT_EQ(info(*op).op, *op) << row.name;
    EXPECT_EQ(info(*op).name, row.name);
    EXPECT_EQ(info(*op).text, row.text);
    EXPECT_EQ(list_of(info(*op).types), list_of(row.types)) << row.name;
    EXPECT_FALSE(is_form(*op)) << row.name;
    // U32 as T would hide a fixed U32.
    const DataType scalar = contains(row.types, U64) ? U64 : Bool;
    EXPECT_EQ(signature_of(info(*op), scalar), row.signature) << row.name;
    if (contains(row.types, Vec2U32)) {
      EXPECT_EQ(signature_of(info(*op), Vec2U32), info(*op).arity == 2 ? "T, T -> T" : "T -> T")
          << row.name;
    }
  }
}

TEST(Operations, Forms) {
  for (const FormRow& row : kForms) {
    const std::optional<Operation> op = operation_of_tag(row.tag);
    ASSERT_TRUE(op) << row.name;
    EXPECT_EQ(info(*op).op, *op) << row.name;
    EXPECT_EQ(info(*op).name, row.name);
    EXPECT_EQ(info(*op).arity, row.arity) << row.name;
    EXPECT_TRUE(is_form(*op)) << row.name;
  }
}

// With the two tests above: every row has a tag of its own, and no other tag means anything.
TEST(Operations, NoOtherTags) {
  EXPECT_EQ(all_operations().size(), std::size(kOperations) + std::size(kForms));
  std::size_t known = 0;
  for (std::uint32_t tag = 0; tag < 1000; ++tag) known += operation_of_tag(tag).has_value();
  EXPECT_EQ(known, all_operations().size());
}

// A name that is called is a function; operators and forms are found by other means.
TEST(Operations, FindFunction) {
  for (const OperationRow& row : kOperations) {
    const bool is_function = row.text[0] >= 'a' && row.text[0] <= 'z';
    const OperationInfo* found = find_function(row.text);
    ASSERT_EQ(found != nullptr, is_function) << row.text;
    if (is_function) {
      EXPECT_EQ(found->name, row.name);
    }
  }
  EXPECT_EQ(find_function("Select"), nullptr);
  EXPECT_EQ(find_function("Popcount"), nullptr);
  EXPECT_EQ(find_function(""), nullptr);
}

TEST(Operations, Costs) {
  std::string many;
  for (const OperationInfo& row : all_operations()) {
    if (cost(row.op) == Cost::Many) many += std::string(row.name) + " ";
    EXPECT_TRUE(row.arity != 0 || cost(row.op) == Cost::None) << row.name;
  }
  EXPECT_EQ(many, "Load Call Div Mod ");
}

TEST(Operations, Atomics) {
  const std::vector<std::pair<std::string_view, int>> rows = {
      {"atomic_add", 1}, {"atomic_and", 1}, {"atomic_or", 1},       {"atomic_xor", 1},
      {"atomic_min", 1}, {"atomic_max", 1}, {"atomic_exchange", 1}, {"atomic_compare_exchange", 2}};
  ASSERT_EQ(all_atomics().size(), rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::optional<AtomicOp> op = atomic_of_tag(i + 1);
    ASSERT_TRUE(op) << rows[i].first;
    EXPECT_EQ(info(*op).op, *op) << rows[i].first;
    EXPECT_EQ(info(*op).text, rows[i].first);
    EXPECT_EQ(info(*op).operands, rows[i].second) << rows[i].first;
    EXPECT_EQ(find_atomic(rows[i].first), &info(*op)) << rows[i].first;
  }
  EXPECT_EQ(atomic_of_tag(0), std::nullopt);
  EXPECT_EQ(atomic_of_tag(9), std::nullopt);
  EXPECT_EQ(find_atomic("atomic_sub"), nullptr);
}

}  // namespace
}  // namespace vyre
