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
  EXPECT_EQ(min_bytes(U8), 1u);
  EXPECT_EQ(min_bytes(U16), 2u);
  EXPECT_EQ(min_bytes(I8), 1u);
  EXPECT_EQ(min_bytes(I16), 2u);
}

// What no value has: elements that are loaded as a value of another type.
TEST(Types, OfElementsOnly) {
  for (const TypeInfo& row : all_types()) {
    const bool is_signed = row.type == I8 || row.type == I16;
    const bool narrow = is_signed || row.type == U8 || row.type == U16;
    EXPECT_EQ(is_narrow(row.type), narrow) << row.text;
    EXPECT_EQ(is_value_type(row.type), !narrow && row.type != Bytes) << row.text;
    EXPECT_EQ(is_variable_type(row.type), is_value_type(row.type)) << row.text;
    if (narrow) {
      EXPECT_EQ(loaded_type(row.type), is_signed ? I32 : U32) << row.text;
    }
  }
}

TEST(Types, BytesBuffersAreWords) {
  EXPECT_EQ(stride(Bytes), 4u);
  EXPECT_EQ(loaded_type(Bytes), U32);
  for (const TypeInfo& row : all_types()) {
    if (row.type == Bytes) continue;
    EXPECT_EQ(stride(row.type), row.bytes) << row.text;
    EXPECT_EQ(loaded_type(row.type) == row.type, !is_narrow(row.type)) << row.text;
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
    EXPECT_EQ(has_sign(row.type), loaded_type(row.type) == I32) << row.text;
    EXPECT_EQ(words(row.type), is_narrow(row.type) ? 1 : row.bytes / 4) << row.text;
    EXPECT_EQ(is_wide(row.type), row.bytes > 4) << row.text;
  }
  EXPECT_EQ(lane_bits(Bool), 32u);
  EXPECT_EQ(lane_bits(Vec4U32), 32u);
  EXPECT_EQ(lane_bits(U128), 128u);
  EXPECT_EQ(lane_bits(I16), 16u);
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
    {13, U8, "U8", "u8"},
    {14, U16, "U16", "u16"},
    {15, I8, "I8", "i8"},
    {16, I16, "I16", "i16"},
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
  // 17 stands before the element and the number of an array, and is no type by itself.
  for (std::uint32_t tag : {0u, 9u, 12u, 17u, 31u, 32u, 255u, 256u + 1u, 0xFFFFFFFFu}) {
    EXPECT_EQ(type_of_tag(tag), std::nullopt) << tag;
  }
  for (std::string_view other :
       {"", "?", "U32", "u3", "u320", "f32", "f16", "bf16", "tensor", "u4", "i64", "u32[4]"}) {
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

TEST(Types, Arrays) {
  const DataType array = array_type(U64, 3);
  EXPECT_TRUE(is_array(array));
  EXPECT_EQ(element_type(array), U64);
  EXPECT_EQ(element_count(array), 3u);
  EXPECT_EQ(tables::argument_text(array), "u64[3]");
  EXPECT_EQ(tables::argument_text(U64), "u64");
  EXPECT_NE(array, array_type(U64, 4));
  EXPECT_NE(array, array_type(U32, 3));
  for (const TypeInfo& row : all_types()) {
    EXPECT_FALSE(is_array(row.type)) << row.text;
    EXPECT_EQ(element_type(row.type), row.type) << row.text;
    // No operation takes an array, and no array is another type by its number.
    for (const std::uint32_t count : {1u, 2u, 4096u, 65536u}) {
      const DataType each = array_type(row.type, count);
      EXPECT_EQ(element_type(each), row.type) << row.text;
      EXPECT_EQ(element_count(each), count) << row.text;
      EXPECT_EQ(info(each).type, Unknown) << row.text;
      EXPECT_FALSE(contains(~TypeSet{0}, each)) << row.text;
      EXPECT_FALSE(cast_exists(each, row.type)) << row.text;
      EXPECT_FALSE(cast_exists(row.type, each)) << row.text;
      EXPECT_EQ(type_of_tag(static_cast<std::uint32_t>(each)), std::nullopt) << row.text;
    }
  }
}

// At most 4096 elements and 16 KiB; elements are values.
TEST(Types, OfVariables) {
  for (const DataType element : {U32, I32, Bool}) {
    EXPECT_TRUE(is_variable_type(array_type(element, 1))) << text(element);
    EXPECT_TRUE(is_variable_type(array_type(element, 4096))) << text(element);
    EXPECT_FALSE(is_variable_type(array_type(element, 4097))) << text(element);
  }
  for (const DataType element : {U64, Vec2U32}) {
    EXPECT_TRUE(is_variable_type(array_type(element, 2048))) << text(element);
    EXPECT_FALSE(is_variable_type(array_type(element, 2049))) << text(element);
  }
  for (const DataType element : {U128, Vec4U32}) {
    EXPECT_TRUE(is_variable_type(array_type(element, 1024))) << text(element);
    EXPECT_FALSE(is_variable_type(array_type(element, 1025))) << text(element);
  }
  for (const DataType element : {Bytes, U8, U16, I8, I16, Unknown}) {
    EXPECT_FALSE(is_variable_type(array_type(element, 1))) << text(element);
  }
}

// --- Casts --------------------------------------------------------------------------------------

TEST(Types, CastTable) {
  constexpr DataType order[] = {U32,     I32,   Bool, U64, U128, Vec2U32,
                                Vec4U32, Bytes, U8,   U16, I8,   I16};
  // A row is a source; its columns are the targets in the same order.
  constexpr std::string_view table[] = {
      "xxxxxxx.....",  // U32
      "xxxxxxx.....",  // I32
      "xxxxxxx.....",  // Bool
      "xxxxxx......",  // U64: not to Vec4U32
      "xxxxxxx.....",  // U128
      "xxxxxx......",  // Vec2U32: not to Vec4U32
      "xxxxxxx.....",  // Vec4U32
      ".......x....",  // Bytes
      "............",  // U8: no value has it
      "............",  // U16
      "............",  // I8
      "............",  // I16
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
  bool is_written = false;  // none is left when calls are expanded
};

constexpr FormRow kForms[] = {
    {1, "Literal", 0},      {2, "Local", 0},          {3, "Load", 1},
    {4, "Length", 0},       {5, "InvocationId", 0},   {6, "WorkgroupId", 0},
    {7, "LocalId", 0},      {8, "Select", 3},         {9, "Cast", 1},
    {10, "Vec2", 2},        {11, "Vec4", -1},         {12, "Lane", 1},
    {13, "Call", -1, true}, {14, "Element", 2, true}, {15, "Array", -1, true},
    {16, "Table", 0, true}, {17, "NumWorkgroups", 0}, {18, "Count", 1, true},
    {19, "Zeros", 0, true},
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
    EXPECT_EQ(is_written(*op), row.is_written) << row.name;
  }
  for (const OperationRow& row : kOperations) {
    EXPECT_FALSE(is_written(*operation_of_tag(row.tag))) << row.name;
  }
}

TEST(Operations, Ids) {
  std::string ids;
  for (const OperationInfo& row : all_operations()) {
    if (!id_name(row.op).empty())
      ids += std::string(row.name) + "=" + std::string(id_name(row.op)) + " ";
  }
  EXPECT_EQ(ids,
            "InvocationId=invocation_id WorkgroupId=workgroup_id LocalId=local_id "
            "NumWorkgroups=num_workgroups ");
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
    // What has no operands is there already, but zeros have to be made.
    EXPECT_EQ(row.arity == 0 && cost(row.op) != Cost::None, row.op == Operation::Zeros) << row.name;
  }
  EXPECT_EQ(many, "Load Call Element Array Zeros Div Mod ");
}

TEST(Operations, Atomics) {
  struct Row {
    std::string_view text;
    int operands;
    bool commutes;
  };
  const std::vector<Row> rows = {
      {"atomic_add", 1, true},       {"atomic_and", 1, true},
      {"atomic_or", 1, true},        {"atomic_xor", 1, true},
      {"atomic_min", 1, true},       {"atomic_max", 1, true},
      {"atomic_exchange", 1, false}, {"atomic_compare_exchange", 2, false},
      {"atomic_load", 0, false},     {"atomic_store", 1, false}};
  ASSERT_EQ(all_atomics().size(), rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::optional<AtomicOp> op = atomic_of_tag(i + 1);
    ASSERT_TRUE(op) << rows[i].text;
    EXPECT_EQ(info(*op).op, *op) << rows[i].text;
    EXPECT_EQ(info(*op).text, rows[i].text);
    EXPECT_EQ(info(*op).operands, rows[i].operands) << rows[i].text;
    EXPECT_EQ(info(*op).order == AtomicOrder::Any, rows[i].commutes) << rows[i].text;
    EXPECT_EQ(find_atomic(rows[i].text), &info(*op)) << rows[i].text;
  }
  EXPECT_EQ(atomic_of_tag(0), std::nullopt);
  EXPECT_EQ(atomic_of_tag(11), std::nullopt);
  EXPECT_EQ(find_atomic("atomic_sub"), nullptr);
}

TEST(Operations, Collectives) {
  using enum CollectiveShape;
  struct Row {
    std::string_view text;
    Operation operation;  // what combines two values
    CollectiveShape shape;
  };
  const std::vector<Row> rows = {
      {"workgroup_add", Operation::Add, All},
      {"workgroup_min", Operation::Min, All},
      {"workgroup_max", Operation::Max, All},
      {"workgroup_and", Operation::BitAnd, All},
      {"workgroup_or", Operation::BitOr, All},
      {"workgroup_xor", Operation::BitXor, All},
      {"workgroup_scan_add", Operation::Add, Before},
      {"workgroup_scan_min", Operation::Min, Before},
      {"workgroup_scan_max", Operation::Max, Before},
      {"workgroup_broadcast", Operation::Literal, One},
      {"workgroup_shuffle", Operation::Literal, Own},
  };
  ASSERT_EQ(all_collectives().size(), rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const std::optional<CollectiveOp> op = collective_of_tag(i + 1);
    ASSERT_TRUE(op) << rows[i].text;
    EXPECT_EQ(info(*op).op, *op) << rows[i].text;
    EXPECT_EQ(info(*op).text, rows[i].text);
    EXPECT_EQ(info(*op).operation, rows[i].operation) << rows[i].text;
    EXPECT_EQ(info(*op).chooses(), rows[i].shape == One || rows[i].shape == Own) << rows[i].text;
    EXPECT_EQ(info(*op).is_uniform(), rows[i].shape == All || rows[i].shape == One) << rows[i].text;
    EXPECT_EQ(find_collective(rows[i].text), &info(*op)) << rows[i].text;
    // The combining ones are associative and commutative, so that no order can be told.
    if (rows[i].operation != Operation::Literal) {
      EXPECT_TRUE(info(rows[i].operation).laws.starts_with("commutative associative"))
          << rows[i].text;
    }
  }
  EXPECT_EQ(collective_of_tag(0), std::nullopt);
  EXPECT_EQ(collective_of_tag(12), std::nullopt);
  EXPECT_EQ(find_collective("workgroup_sub"), nullptr);
  EXPECT_EQ(list_of(type_sets::Combined), "u32, i32 or u64");
}

}  // namespace
}  // namespace vyre
