// The wire format: everything survives the way there and back, there is one encoding, and every
// kind of damage gets its own code and place.
#include "vyre/wire/wire.h"
#include "tests/support/command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "vyre/ir/intern.h"
#include "vyre/ir/walk.h"
#include "vyre/wire/format.h"

namespace vyre {
namespace {

using Words = std::vector<std::uint32_t>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// --- Modules ------------------------------------------------------------------------------------

ExprId number(Interner& interner, std::uint32_t value) {
  return interner.literal(DataType::U32, Bits{{value}});
}

// The example of docs/wire-format.md.
Module example() {
  Program program;
  program.name = "p";
  program.workgroup_size = {64, 1, 1};
  program.buffers = {BufferDecl::storage("out", 0, BufferAccess::ReadWrite, DataType::U32)};
  Body body;
  Interner interner(body);
  body.locals = {{"i"}};
  body.stmts.push_back(Let{LocalId{0u}, interner.make(Operation::InvocationId, 0, 0, {})});
  const ExprId i = interner.local(LocalId{0u});
  const ExprId sum[] = {i, number(interner, 7)};
  body.stmts.push_back(Store{BufferId{0u}, i, interner.make(Operation::Add, 0, 0, sum)});
  program.body = canonical(body);
  return {{program}};
}

// A table whose bytes are 0, 1, 0, 0, 0, …: every type has such elements.
ConstTable table_of(std::string name, DataType element, std::uint32_t count) {
  std::vector<std::byte> bytes(std::size_t{count} * stride(element));
  bytes[bytes.size() > 4 ? 4 : 0] = std::byte{1};
  return {std::move(name), element, Contents(std::move(bytes))};
}

// A program with every type, access, operation, atomic, collective and statement.
Program everything() {
  Program program;
  program.name = "everything";
  program.workgroup_size = {8, 4, 2};
  std::uint32_t binding = 0;
  for (const TypeInfo& type : all_types()) {
    const std::string name(type.text);
    program.buffers.push_back(
        BufferDecl::storage(name + "_in", binding++, BufferAccess::ReadOnly, type.type));
    program.buffers.push_back(
        BufferDecl::storage(name + "_out", binding++, BufferAccess::ReadWrite, type.type, 3));
    program.buffers.push_back(BufferDecl::uniform(name + "_uniform", binding++, type.type));
    program.buffers.push_back(BufferDecl::workgroup(name + "_shared", type.type, 64));
  }

  Body body;
  Interner interner(body);
  std::vector<ExprId> values;
  const auto let = [&](ExprId value) {
    values.push_back(value);
    body.locals.push_back({"v" + std::to_string(body.locals.size())});
    body.stmts.push_back(Let{LocalId{body.locals.size() - 1}, value});
  };
  let(interner.literal(DataType::U32, {{0xffffffff}}));
  let(interner.literal(DataType::I32, {{0xffffffff}}));
  let(interner.literal(DataType::Bool, {{1}}));
  let(interner.literal(DataType::U64, {{1, 2}}));
  let(interner.literal(DataType::U128, {{1, 2}}));  // the same constant
  let(interner.literal(DataType::U128, {{1, 2, 3, 4}}));
  for (const OperationInfo& row : all_operations()) {
    std::vector<ExprId> args(values.end() - std::max(0, row.arity), values.end());
    switch (row.op) {
      case Operation::Literal: break;
      case Operation::Local: let(interner.local(LocalId{2u})); break;
      case Operation::Load: let(interner.load(BufferId{5u}, args[0])); break;
      case Operation::Length: let(interner.length(BufferId{31u})); break;
      case Operation::InvocationId:
      case Operation::WorkgroupId:
      case Operation::LocalId:
      case Operation::NumWorkgroups:
        for (std::uint8_t axis = 0; axis < 3; ++axis) let(interner.make(row.op, axis, 0, {}));
        break;
      case Operation::Cast:
        for (const TypeInfo& type : all_types()) {
          let(interner.make(row.op, static_cast<std::uint8_t>(type.type), 0, args));
        }
        break;
      case Operation::Lane:
        for (std::uint8_t lane = 0; lane < 4; ++lane) let(interner.make(row.op, lane, 0, args));
        break;
      case Operation::Vec4: let(interner.make(row.op, 0, 0, std::span(values).first(4))); break;
      case Operation::Call:
        let(interner.call("some.op", {}));
        let(interner.call("another.op", std::span(values).first(5)));
        let(interner.call("some.op", std::span(values).last(1)));
        break;
      case Operation::Array:
        let(interner.array(std::span(values).first(5)));
        let(interner.array(std::span(values).last(1)));
        break;
      case Operation::Table:
        for (const TypeInfo& type : all_types()) {
          if (type.type == DataType::Bytes) continue;
          let(interner.table(
              table_of("t", type.type, 3)));  // of one name, and not always whole words
        }
        let(interner.table(table_of("u", DataType::U32, 3)));
        break;
      case Operation::Zeros:
        let(interner.zero(array_type(DataType::U32, 1)));
        let(interner.zero(array_type(DataType::U32, 4096)));
        let(interner.zero(array_type(DataType::Vec4U32, 7)));
        break;
      default: let(interner.make(row.op, 0, 0, args));
    }
  }

  const ExprId x = values[0], y = values.back();
  const auto at = [&](int after) {
    return StmtId{body.stmts.size() + static_cast<std::size_t>(after)};
  };
  const auto local = [&](const char* name) {
    body.locals.push_back({name});
    return LocalId{body.locals.size() - 1};
  };
  for (const AtomicInfo& row : all_atomics()) {
    const ExprId expected = row.operands == 2 ? y : ExprId{};
    const auto value = [&](ExprId id) { return row.operands > 0 ? id : ExprId{}; };
    if (row.op != AtomicOp::Store) {
      body.stmts.push_back(Atomic{row.op, local("old"), BufferId{1u}, x, expected, value(y)});
    }
    body.stmts.push_back(Atomic{row.op, {}, BufferId{5u}, y, expected, value(x)});
  }
  for (const CollectiveInfo& row : all_collectives()) {
    body.stmts.push_back(Collective{row.op, local("s"), x, row.chooses() ? y : ExprId{}});
  }
  body.stmts.push_back(SetElement{LocalId{3u}, x, y});
  body.stmts.push_back(Assign{LocalId{3u}, y});
  body.stmts.push_back(Store{BufferId{1u}, x, y});
  body.stmts.push_back(If{x, at(3), at(6)});  // if { barrier {} } else if { } else { return }
  body.stmts.push_back(Barrier{});
  body.stmts.push_back(Block{at(1)});
  body.stmts.push_back(If{y, at(1), at(3)});
  body.stmts.push_back(Return{});
  body.stmts.push_back(Barrier{});
  body.stmts.push_back(For{local("k"), x, y, at(4)});
  body.stmts.push_back(If{y, at(2), at(3)});
  body.stmts.push_back(Break{});
  body.stmts.push_back(Continue{});
  body.stmts.push_back(Return{y});
  program.body = canonical(body);
  return program;
}

// An op with every law.
Op lawful() {
  Op op;
  op.id = "test.lawful";
  op.description = "größer: ∀ laws";
  for (const TypeInfo& type : all_types()) {
    op.signature.inputs.push_back(type.type);
    op.body.locals.push_back({"p_" + std::string(type.text)});
  }
  op.signature.output = DataType::U128;
  const TypedBits values[] = {{DataType::U32, {{7}}},
                              {DataType::I32, {{0xffffffff}}},
                              {DataType::U64, {{1, 2}}},
                              {DataType::Vec2U32, {{3, 4}}},
                              {DataType::Vec4U32, {{1, 2, 3, 4}}},
                              {DataType::Bool, {{1}}},
                              {DataType::U128, {{4, 3, 2, 1}}}};
  std::size_t next_value = 0;
  for (const LawInfo& row : all_laws()) {
    Law law{row.kind, {}};
    for (char kind : row.arguments) {
      switch (kind) {
        case 'v': law.arguments.emplace_back(values[next_value++ % std::size(values)]); break;
        case 'o': law.arguments.emplace_back("other.op" + std::to_string(next_value++)); break;
        case 'b': law.arguments.emplace_back(TypedBits{DataType::Bool, {{1}}}); break;
        case 'd': law.arguments.emplace_back(Direction::NonIncreasing); break;
        default: ADD_FAILURE() << "new kind of law argument";
      }
    }
    op.laws.push_back(law);
  }
  op.laws.push_back({LawKind::ZeroProduct, {TypedBits{DataType::Bool, {}}}});
  op.laws.push_back({LawKind::Monotonic, {Direction::NonDecreasing}});
  Interner interner(op.body);
  op.body.stmts.push_back(Assign{LocalId{3u}, interner.local(LocalId{1u})});
  op.body.stmts.push_back(Return{interner.local(LocalId{7u})});
  return op;
}

// An op from an array to an array, with a table.
Op with_arrays() {
  Op op;
  op.id = "test.with_arrays";
  op.signature = {{array_type(DataType::U64, 3), DataType::U32}, array_type(DataType::U32, 5)};
  op.body.locals = {{"a"}, {"i"}};
  Interner interner(op.body);
  const ExprId table = interner.table(table_of("k", DataType::U16, 5));
  op.body.stmts.push_back(
      SetElement{LocalId{0u}, interner.local(LocalId{1u}), interner.element(table, table)});
  op.body.stmts.push_back(Return{table});
  op.body = canonical(op.body, 2);
  return op;
}

Module all_of_it() { return {{everything(), lawful(), with_arrays(), example().items[0]}}; }

// --- Bytes --------------------------------------------------------------------------------------

void set_word(std::string& bytes, std::size_t at, std::uint32_t value) {
  store_word(bytes.data() + at, value);
}

// Makes length and digest right again.
void seal(std::string& bytes) {
  const std::uint64_t checksum = wire_checksum(std::string_view(bytes).substr(kWireHeaderBytes));
  set_word(bytes, 16, static_cast<std::uint32_t>(bytes.size()));
  set_word(bytes, 20, 0);
  set_word(bytes, 24, static_cast<std::uint32_t>(checksum));
  set_word(bytes, 28, static_cast<std::uint32_t>(checksum >> 32));
}

// A file with one item; its fields begin at byte 40.
std::string item(std::uint32_t tag, const Words& fields) {
  std::string bytes = *encode(Module{});
  set_word(bytes, 12, 1);
  for (std::uint32_t word : Words{tag, static_cast<std::uint32_t>(fields.size() * 4)} + fields) {
    bytes.resize(bytes.size() + 4);
    set_word(bytes, bytes.size() - 4, word);
  }
  seal(bytes);
  return bytes;
}

// A program without name and buffers; its body begins at byte 60. In an empty body the tables of
// locals, constants, callees, expressions and statements begin at bytes 60, 64, 68, 72 and 76.
std::string program_with(const Words& body) { return item(1, Words{0, 1, 1, 1, 0} + body); }

// A program with tables of constants, of which the number stands at byte 68; the first begins with
// its name at byte 72.
std::string program_with_tables(const Words& tables_and_more) {
  return item(3, Words{0, 1, 1, 1, 0, 0, 0} + tables_and_more);
}

// An op without id and description; its table of inputs begins at byte 48.
std::string op_with(const Words& fields) { return item(2, Words{0, 0} + fields); }

// "W004: the digest does not match: …", or "fine".
std::string outcome(std::string_view bytes) {
  const Result<Module> result = decode(bytes, "x.wire");
  if (result) return "fine";
  EXPECT_EQ(result.diagnostics().size(), 1u);
  const Diagnostic& diagnostic = result.diagnostics()[0];
  EXPECT_EQ(diagnostic.file, "x.wire");
  EXPECT_EQ(diagnostic.line, 0u);
  EXPECT_FALSE(diagnostic.fix.empty());
  return std::string(name(diagnostic.code)) + ": " + diagnostic.problem;
}

struct Case {
  std::string bytes;
  std::string_view outcome;
};

void expect(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(outcome(c.bytes), c.outcome);
}

// --- There and back -----------------------------------------------------------------------------

TEST(Wire, IsLossless) {
  const Module module = all_of_it();
  const Result<std::string> bytes = encode(module);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size() % 4, 0u);
  const Result<Module> back = decode(*bytes);
  ASSERT_TRUE(back) << back.diagnostics()[0].message();
  EXPECT_EQ(*back, module);
  EXPECT_EQ(*encode(*back), *bytes);
}

TEST(Wire, WritesTheDocumentedBytes) {
  // clang-format off
  const unsigned char expected[] = {
      0xb6, 'V', 'Y', 'R', 'E', '\r', '\n', '\n',          // magic
      1, 0, 0, 0, 1, 0, 0, 0,                               // version, items
      0xb0, 0, 0, 0, 0, 0, 0, 0,                            // length
      0x36, 0xb4, 0x17, 0x88, 0x2c, 0xfa, 0xbe, 0xaf,       // digest
      1, 0, 0, 0, 0x88, 0, 0, 0,                            // program
      1, 0, 0, 0, 'p', 0, 0, 0,                             // p
      64, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,                  // workgroup(64)
      1, 0, 0, 0, 3, 0, 0, 0, 'o', 'u', 't', 0,             // out
      2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,       // read_write u32[] @0
      1, 0, 0, 0, 1, 0, 0, 0, 'i', 0, 0, 0,                 // local i
      0, 0, 0, 0, 0, 0, 0, 0,                               // constants, callees
      4, 0, 0, 0, 5, 0, 0, 0,                               // invocation_id.x
      2, 0, 0, 0, 0, 0, 0, 0,                               // i
      1, 1, 0, 0, 7, 0, 0, 0,                               // 7
      0x4d, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,                // i + 7
      2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,       // let i = invocation_id.x
      3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0,       // out[i] = i + 7
  };
  // clang-format on
  EXPECT_EQ(*encode(example()),
            std::string(reinterpret_cast<const char*>(expected), sizeof expected));
}

TEST(Wire, AnEmptyModuleIsTheHeaderAlone) {
  const std::string bytes = *encode(Module{});
  ASSERT_EQ(bytes.size(), kWireHeaderBytes);
  EXPECT_EQ(load_word(bytes.data() + 24), 0x51d8e999u);
  EXPECT_EQ(load_word(bytes.data() + 28), 0xef46db37u);
  EXPECT_EQ(*decode(bytes), Module{});
}

TEST(Wire, TakesEverySmallestBody) {
  EXPECT_EQ(outcome(program_with({0, 0, 0, 0, 0})), "fine");
  EXPECT_EQ(outcome(op_with({0, 1, 0, 0, 0, 0, 0, 0})), "fine");
  EXPECT_EQ(outcome(op_with({0, 17, 1, 1, 0, 0, 0, 0, 0, 0})), "fine");
  EXPECT_EQ(outcome(program_with_tables({1, 0, 13, 1, 7, 0, 1, 16, 0, 1, 9, 0})), "fine");
}

TEST(Wire, KnowsItsOwnFiles) {
  EXPECT_TRUE(is_wire(*encode(Module{})));
  EXPECT_TRUE(is_wire("\xb6VYRE\n\n"));  // damaged, but no text either
  EXPECT_FALSE(is_wire("VYRE\r\n\n"));
  EXPECT_FALSE(is_wire("program p workgroup(1) {}"));
  EXPECT_FALSE(is_wire(""));
}

// A raw body is accepted exactly when it is its own canonical form.
TEST(Wire, AcceptsOnlyTheCanonicalNumbering) {
  std::mt19937 random(1);
  int accepted = 0, rejected = 0;
  for (int round = 0; round < 20'000; ++round) {
    Program program;
    Body& body = program.body;
    const std::size_t size = 1 + random() % 5;
    for (std::size_t i = 0; i < size; ++i) {
      Expr expr;
      expr.op = Operation::InvocationId;
      expr.detail = static_cast<std::uint8_t>(random() % 3);
      if (i > 0 && random() % 3 > 0) {
        expr.op = random() % 2 ? Operation::Add : Operation::Select;
        expr.detail = 0;
        for (int k = 0; k < info(expr.op).arity; ++k) {
          expr.args[static_cast<std::size_t>(k)] = ExprId{random() % i};
        }
      }
      body.exprs.push_back(expr);
    }
    for (int i = 0; i < 2; ++i) {
      body.stmts.push_back(Return{ExprId{i == 0 ? random() % size : size - 1}});
    }
    const bool fine = decode(*encode(Module{{program}})).ok();
    ++(fine ? accepted : rejected);
    ASSERT_EQ(fine, body == canonical(body)) << "round " << round;
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(rejected, 1000);
}

TEST(Wire, DepthAndSizeCostNoStack) {
  Program program;
  Interner interner(program.body);
  ExprId value = interner.make(Operation::InvocationId, 0, 0, {});
  for (int i = 0; i < 200'000; ++i) value = interner.make(Operation::Negate, 0, 0, {&value, 1});
  constexpr std::uint32_t kDepth = 100'000;
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    program.body.stmts.push_back(i % 2 ? Stmt{Block{StmtId{kDepth + 1}}}
                                       : Stmt{If{value, StmtId{kDepth + 1}, StmtId{kDepth + 1}}});
  }
  program.body.stmts.push_back(Return{});
  const Module module{{program}};
  const Result<Module> back = decode(*encode(module));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, module);
}

// --- Damage -------------------------------------------------------------------------------------

TEST(Wire, EveryTruncationIsReported) {
  const std::string bytes = *encode(all_of_it());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string_view part = std::string_view(bytes).substr(0, size);
    const std::string_view expected = size == 0 ? "W001" : "W003";
    ASSERT_EQ(outcome(part).substr(0, 4), expected) << size;
    if (size < kWireHeaderBytes) continue;
    std::string sealed(part);
    seal(sealed);
    ASSERT_EQ(outcome(sealed).substr(0, 4), "W003") << size;
  }
}

TEST(Wire, EveryFlippedBitIsReported) {
  const std::string bytes = *encode(all_of_it());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(decode(damaged).ok()) << "bit " << bit;
    seal(damaged);
    if (const Result<Module> module = decode(damaged)) {
      ASSERT_EQ(*encode(*module), damaged) << "bit " << bit;
    }
  }
}

TEST(Wire, W001Magic) {
  std::string unix_ends = *encode(example()), dos_ends = unix_ends;
  unix_ends.erase(5, 1);
  dos_ends.insert(7, "\r");
  expect({{"", "W001: this is not a vyre wire file"},
          {"program p workgroup(1) {}", "W001: this is not a vyre wire file"},
          {"\xb6W", "W001: this is not a vyre wire file"},
          {unix_ends, "W001: this is not a vyre wire file"},
          {dos_ends, "W001: this is not a vyre wire file"}});
}

TEST(Wire, W002Version) {
  std::string bytes = *encode(example());
  set_word(bytes, 8, 2);
  const std::string_view expected =
      "W002: wire version 2 is not known to this vyre, which reads version 1";
  expect({{bytes, expected}, {bytes.substr(0, 12), expected}});
}

TEST(Wire, W003Truncated) {
  const std::uint32_t many = 0x10000000;
  std::string items = *encode(example());
  set_word(items, 12, 2);
  std::string length = *encode(example());
  set_word(length, 20, 1);
  std::string item_length = *encode(example());
  set_word(item_length, 36, 140);
  seal(item_length);
  std::string without_padding = item(1, {1, 'p'}).substr(0, 45);
  set_word(without_padding, 36, 5);
  seal(without_padding);
  expect({
      {items, "W003: the data ends at byte 176, inside an item"},
      {length, "W003: the data ends at byte 176, inside the items"},
      {item_length, "W003: the data ends at byte 176, inside an item"},
      {without_padding, "W003: the data ends at byte 45, inside a program"},
      {item(1, {many}), "W003: the data ends at byte 44, inside a program"},
      {item(1, {0xfffffffd, 0}), "W003: the data ends at byte 48, inside a program"},
      {item(1, {0, 1, 1, 1, many}), "W003: the data ends at byte 60, inside the buffers"},
      {op_with({many, 0}), "W003: the data ends at byte 56, inside the inputs"},
      {op_with({0, 1, many, 0}), "W003: the data ends at byte 64, inside the laws"},
      {program_with({many, 0}), "W003: the data ends at byte 68, inside the locals"},
      {program_with({0, 1, 0, 0, 0}), "W003: the data ends at byte 80, inside the constants"},
      {program_with({0, 0, many, 0}), "W003: the data ends at byte 76, inside the callees"},
      {program_with({0, 0, 0, many, 0}), "W003: the data ends at byte 80, inside the expressions"},
      {program_with({0, 0, 0, 1, 5, many}),
       "W003: the data ends at byte 84, inside the statements"},
      {program_with({0, 0, 1, 0, 1, 13, 0, many, 0}),
       "W003: the data ends at byte 96, inside the expressions"},
      {program_with({0, 0, 0, 1, 15, many, 0}),
       "W003: the data ends at byte 88, inside the expressions"},
      {program_with_tables({many, 0, 0, 0}), "W003: the data ends at byte 84, inside the tables"},
      {program_with_tables({1, 0, 1, many}), "W003: the data ends at byte 84, inside the tables"},
      {program_with_tables({1, 0, 1, 0xfffffffd}),
       "W003: the data ends at byte 84, inside the tables"},
  });
  items = *encode(Module{});
  set_word(items, 12, many);
  EXPECT_EQ(outcome(items), "W003: the data ends at byte 32, inside an item");
}

TEST(Wire, W004Digest) {
  std::string bytes = *encode(example());
  bytes[40] = 2;
  EXPECT_EQ(outcome(bytes), "W004: the digest does not match: the file is damaged");
}

TEST(Wire, W005Tags) {
  const Words no_body{0, 0, 0, 0, 0};
  expect({
      {item(0, Words(10)), "W005: unknown item tag 0 at byte 32"},
      {item(5, Words(10)), "W005: unknown item tag 5 at byte 32"},
      {item(1, Words{0, 1, 1, 1, 1, 0, 5, 1, 0, 0} + no_body),
       "W005: unknown access tag 5 at byte 64"},
      {item(1, Words{0, 1, 1, 1, 1, 0, 1, 9, 0, 0} + no_body),
       "W005: unknown type tag 9 at byte 68"},
      {op_with(Words{1, 0, 1, 0} + no_body), "W005: unknown type tag 0 at byte 52"},
      {op_with(Words{0, 12, 0} + no_body), "W005: unknown type tag 12 at byte 52"},
      {op_with(Words{0, 18, 0} + no_body), "W005: unknown type tag 18 at byte 52"},
      {op_with(Words{0, 17, 9, 1, 0} + no_body), "W005: unknown type tag 9 at byte 56"},
      {op_with(Words{1, 17, 17, 1, 1, 0} + no_body), "W005: unknown type tag 17 at byte 56"},
      {op_with(Words{0, 1, 1, 21} + no_body), "W005: unknown law tag 21 at byte 60"},
      {op_with(Words{0, 1, 1, 17, 3} + no_body), "W005: unknown direction tag 3 at byte 64"},
      {op_with(Words{0, 1, 1, 3, 9, 0} + no_body), "W005: unknown type tag 9 at byte 64"},
      {program_with({0, 0, 0, 1, 99, 0}), "W005: unknown operation tag 99 at byte 76"},
      {program_with({0, 0, 0, 1, 0x0901, 0, 0}), "W005: unknown type tag 9 at byte 77"},
      {program_with({0, 0, 0, 2, 5, 0x0009, 0, 0}), "W005: unknown type tag 0 at byte 81"},
      {program_with({0, 0, 0, 1, 0x0306, 0}), "W005: unknown axis tag 3 at byte 77"},
      {program_with({0, 0, 0, 2, 5, 0x040c, 0, 0}), "W005: unknown lane tag 4 at byte 81"},
      {program_with({0, 0, 0, 1, 0x1101, 0, 0}), "W005: unknown type tag 17 at byte 77"},
      {program_with({0, 0, 0, 1, 0x0311, 0}), "W005: unknown axis tag 3 at byte 77"},
      {program_with({0, 0, 0, 1, 19, 17, 0, 1, 0}), "W005: unknown type tag 0 at byte 84"},
      {program_with({0, 0, 0, 1, 19, 9, 0}), "W005: unknown type tag 9 at byte 80"},
      {program_with_tables({1, 0, 9, 4, 0, 0, 0, 0}), "W005: unknown type tag 9 at byte 76"},
      {program_with_tables({1, 0, 17, 4, 0, 0, 0, 0}), "W005: unknown type tag 17 at byte 76"},
      {program_with({0, 0, 0, 0, 1, 14}), "W005: unknown statement tag 14 at byte 80"},
      {program_with({0, 0, 0, 0, 1, 0}), "W005: unknown statement tag 0 at byte 80"},
      {program_with({0, 0, 0, 0, 1, 0x0004}), "W005: unknown atomic tag 0 at byte 81"},
      {program_with({0, 0, 0, 0, 1, 0x0b04}), "W005: unknown atomic tag 11 at byte 81"},
      {program_with({0, 0, 0, 0, 1, 0x000d}), "W005: unknown collective tag 0 at byte 81"},
      {program_with({0, 0, 0, 0, 1, 0x0c0d}), "W005: unknown collective tag 12 at byte 81"},
  });
}

TEST(Wire, W006References) {
  // One expression, then statements whose first record stands at byte 84.
  const auto statements = [](const Words& words) {
    return program_with(Words{0, 0, 0, 1, 5} + words);
  };
  const std::uint32_t none = 0xffffffff;
  expect({
      {program_with({0, 0, 0, 1, 32, 0, 0}),
       "W006: operand 0 at byte 80 is out of range; there are 0"},
      {program_with({0, 0, 0, 2, 5, 77, 0, 1, 0}),
       "W006: operand 1 at byte 88 is out of range; there are 1"},
      {program_with({0, 0, 0, 2, 5, 11, 0, 0, 0, none, 0}),
       "W006: operand 4294967295 at byte 96 is out of range; there are 1"},
      {program_with({0, 0, 1, 0, 2, 5, 13, 0, 1, 1, 0}),
       "W006: operand 1 at byte 96 is out of range; there are 1"},
      {program_with({0, 0, 0, 1, 2, 0, 0}),
       "W006: local 0 at byte 80 is out of range; there are 0"},
      {program_with({0, 0, 0, 1, 4, 0, 0}),
       "W006: buffer 0 at byte 80 is out of range; there are 0"},
      {program_with({0, 0, 0, 1, 0x0301, 0, 0}),
       "W006: constant 0 at byte 80 is out of range; there are 0"},
      {program_with({0, 0, 0, 1, 13, 0, 0, 0}),
       "W006: callee 0 at byte 80 is out of range; there are 0"},
      {program_with({0, 0, 0, 1, 16, 0, 0}),
       "W006: table 0 at byte 80 is out of range; there are 0"},
      {program_with({0, 0, 0, 1, 15, 1, 0, 0}),
       "W006: operand 0 at byte 84 is out of range; there are 0"},
      {program_with({0, 0, 0, 2, 5, 14, 0, 1, 0}),
       "W006: operand 1 at byte 88 is out of range; there are 1"},
      {statements({1, 11, 0, 0, 0}), "W006: local 0 at byte 88 is out of range; there are 0"},
      {statements({1, 0x010d, none, 0}),
       "W006: local 4294967295 at byte 88 is out of range; there are 0"},
      {program_with({1, 0, 0, 0, 1, 5, 1, 0x010d, 0, 1}),
       "W006: expression 1 at byte 96 is out of range; there are 1"},
      {program_with({1, 0, 0, 0, 1, 5, 1, 0x0a0d, 0, 0, 1}),
       "W006: expression 1 at byte 100 is out of range; there are 1"},
      {statements({1, 9, 1}), "W006: expression 1 at byte 88 is out of range; there are 1"},
      {statements({1, 5, none, 1, 1}),
       "W006: expression 4294967295 at byte 88 is out of range; there are 1"},
      {statements({1, 1, 0, 0}), "W006: local 0 at byte 88 is out of range; there are 0"},
      {statements({1, 2, 0, 0}), "W006: local 0 at byte 88 is out of range; there are 0"},
      {statements({1, 6, none, 0, 0, 1}),
       "W006: local 4294967295 at byte 88 is out of range; there are 0"},
      {statements({1, 3, 0, 0, 0}), "W006: buffer 0 at byte 88 is out of range; there are 0"},
      {statements({1, 0x0104, none, 0, 0, 0}),
       "W006: buffer 0 at byte 92 is out of range; there are 0"},
      {op_with({1, 1, 1, 0, 0, 0, 0, 0, 0}),
       "W006: parameter 0 at byte 64 is out of range; there are 0"},
      // Blocks that end before they begin, behind the body, or behind the block around them.
      {statements({1, 7, 0}), "W006: block end 0 at byte 88 is out of range; there are 1"},
      {statements({1, 7, 2}), "W006: block end 2 at byte 88 is out of range; there are 2"},
      {statements({2, 5, 0, 0, 2, 10}),
       "W006: block end 0 at byte 92 is out of range; there are 2"},
      {statements({2, 5, 0, 2, 1, 10}),
       "W006: block end 1 at byte 96 is out of range; there are 2"},
      {statements({3, 7, 2, 7, 3, 10}),
       "W006: block end 3 at byte 96 is out of range; there are 3"},
      {statements({3, 5, 0, 2, 3, 7, 3, 10}),
       "W006: block end 3 at byte 104 is out of range; there are 3"},
  });
}

TEST(Wire, W007Canonical) {
  constexpr std::string_view kNotCanonical =
      "W007: a body that is not in canonical form at byte 60";
  const Words no_body{0, 0, 0, 0, 0};
  const Words return_0{1, 9, 0};
  const Words return_1{1, 9, 1};
  std::string longer = item(1, Words{0, 1, 1, 1, 0} + no_body + Words{0});
  expect({
      {longer, "W007: an item that is longer than its fields at byte 80"},
      {item(1, Words{1, 0x0100'0000 | 'p', 1, 1, 1, 0} + no_body),
       "W007: padding that is not zero at byte 45"},
      {item(1, Words{0, 1, 1, 1, 1, 0, 4, 1, 7, 8} + no_body),
       "W007: a binding of a workgroup buffer at byte 72"},
      {op_with(Words{0, 1, 1, 20, 2} + no_body), "W007: a bool that is neither 0 nor 1 at byte 64"},
      {op_with(Words{0, 1, 1, 3, 6, 2} + no_body),
       "W007: a bool that is neither 0 nor 1 at byte 68"},
      {op_with(Words{0, 1, 1, 3, 7} + no_body), "W007: a value of type bytes at byte 64"},
      // Heads.
      {program_with(Words{0, 0, 0, 1, 0x10005} + return_0),
       "W007: bits that are reserved at byte 76"},
      {program_with(Words{0, 0, 0, 2, 5, 0x0120, 0} + return_1),
       "W007: a detail of an operation without at byte 80"},
      {program_with({0, 0, 0, 0, 1, 0x010a}), "W007: bits that are reserved at byte 80"},
      {program_with({0, 0, 0, 0, 1, 0x1000a}), "W007: bits that are reserved at byte 80"},
      {program_with(Words{0, 0, 0, 2, 5, 0x010e, 0, 0} + return_1),
       "W007: a detail of an operation without at byte 80"},
      {program_with({0, 0, 0, 0, 1, 0x010c}), "W007: bits that are reserved at byte 80"},
      {program_with({0, 0, 0, 0, 1, 0x1000d}), "W007: bits that are reserved at byte 80"},
      {item(1, {0, 1, 1, 1, 1, 0, 2, 1, 0, 0, 1, 0, 0, 0, 1, 5, 1, 0x0a04, 0, 0, 0, 0}),
       "W007: a result of atomic_store at byte 112"},
      // Arrays and tables.
      {op_with(Words{0, 17, 1, 0, 0} + no_body),
       "W007: an array without elements, or with too many at byte 60"},
      {op_with(Words{0, 17, 1, 65537, 0} + no_body),
       "W007: an array without elements, or with too many at byte 60"},
      {program_with(Words{0, 0, 0, 1, 15, 0} + return_0),
       "W007: an array without elements at byte 80"},
      {program_with(Words{0, 0, 0, 1, 19, 1} + return_0),
       "W007: zeros that are not an array at byte 80"},
      {program_with_tables({0, 0, 0, 0}), "W007: an item that says that it has tables at byte 68"},
      {program_with_tables({1, 0, 7, 4, 0, 0, 0, 0}), "W007: a table of bytes at byte 76"},
      {program_with_tables({1, 0, 1, 0, 0, 0, 0}),
       "W007: a table without elements, or with a part of one at byte 80"},
      {program_with_tables({1, 0, 14, 3, 0, 0, 0, 0}),
       "W007: a table without elements, or with a part of one at byte 80"},
      {program_with_tables(Words{1, 0, 13, 65537} + Words(16385 + 3)),
       "W007: a table that is too large at byte 80"},
      {program_with_tables(Words{1, 0, 8, 262160} + Words(65540 + 3)),
       "W007: a table that is too large at byte 80"},
      {program_with_tables({1, 0, 13, 1, 0x100, 0, 0, 0}),
       "W007: padding that is not zero at byte 85"},
      {program_with_tables({1, 0, 6, 8, 1, 2, 0, 0, 0}),
       "W007: a bool that is neither 0 nor 1 at byte 88"},
      {program_with_tables({1, 0, 1, 4, 7, 0, 0, 0}), kNotCanonical},
      {program_with_tables({2, 0, 1, 4, 7, 0, 1, 4, 7, 0, 2, 16, 0, 16, 1, 2, 9, 0, 9, 1}),
       kNotCanonical},
      {program_with_tables({2, 0, 1, 4, 7, 0, 1, 4, 8, 0, 2, 16, 1, 16, 0, 2, 9, 0, 9, 1}),
       kNotCanonical},
      // Literals.
      {program_with(Words{0, 0, 0, 1, 0x0601, 2} + return_0),
       "W007: a bool that is neither 0 nor 1 at byte 80"},
      {program_with(Words{0, 1, 1, 2, 0, 0, 0, 1, 0x0401, 0} + return_0),
       "W007: a literal of a type without literals at byte 92"},
      {program_with(Words{0, 0, 0, 1, 0x0701, 0} + return_0),
       "W007: a literal of a type without literals at byte 76"},
      {program_with(Words{0, 1, 1, 2, 3, 0, 0, 1, 0x0301, 0} + return_0),
       "W007: a literal with more bits than its type at byte 96"},
      {program_with(Words{0, 1, 1, 2, 0, 3, 0, 1, 0x0301, 0} + return_0),
       "W007: a literal with more bits than its type at byte 96"},
      // Constants and callees.
      {program_with(Words{0, 1, 1, 2, 0, 0, 0, 0} + Words{0}), kNotCanonical},
      {program_with(Words{0, 2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0x0301, 0} + return_0),
       kNotCanonical},
      {program_with(Words{0, 2, 1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x0301, 1} + return_0),
       kNotCanonical},
      {program_with({0, 0, 1, 0, 0, 0}), kNotCanonical},
      {program_with({0, 0, 2, 1, 'f', 1, 'f', 0, 0}), kNotCanonical},
      {program_with(Words{0, 0, 2, 1, 'f', 1, 'g', 1, 13, 1, 0} + return_0), kNotCanonical},
      // Expressions.
      {program_with(Words{0, 0, 0, 2, 5, 5} + return_1), kNotCanonical},
      {program_with(Words{0, 0, 0, 3, 5, 5, 99} + return_1),
       "W005: unknown operation tag 99 at byte 84"},
      {program_with(Words{0, 0, 0, 2, 5, 6} + return_0), kNotCanonical},
      {program_with(Words{0, 0, 0, 2, 5, 6} + return_1), kNotCanonical},
      {program_with({0, 0, 0, 2, 5, 6, 2, 9, 1, 9, 0}), kNotCanonical},
      {program_with({0, 0, 1, 1, 'f', 4, 5, 13, 0, 1, 0, 6, 77, 2, 1, 1, 9, 3}), kNotCanonical},
      // Locals.
      {program_with({1, 0, 0, 0, 0, 0}), "W007: a local without declaration at byte 84"},
      {program_with({2, 0, 0, 0, 0, 1, 5, 2, 1, 1, 0, 1, 0, 0}),
       "W007: a local out of order at byte 96"},
      {program_with({1, 0, 0, 0, 1, 5, 2, 1, 0, 0, 1, 0, 0}),
       "W007: a local out of order at byte 104"},
      {op_with({1, 1, 1, 0, 1, 0, 0, 0, 1, 5, 1, 6, 0, 0, 0, 1}),
       "W007: a local out of order at byte 96"},
  });
}

TEST(Wire, W008Trailing) {
  std::string behind_the_file = *encode(example()) + "\n";
  std::string behind_the_items = *encode(example()) + "1234";
  seal(behind_the_items);
  std::string fewer_items = *encode(example());
  set_word(fewer_items, 12, 0);
  expect({{behind_the_file, "W008: 1 bytes follow the end of the module"},
          {behind_the_items, "W008: 4 bytes follow the end of the module"},
          {fewer_items, "W008: 144 bytes follow the end of the module"}});
}

TEST(Wire, W009TooLarge) {
  // With a name of n bytes (a multiple of 4) the item has 40 + n.
  Module module;
  Program& program = std::get<Program>(module.items.emplace_back());
  program.name.assign(kMaxEncodedBytes - 40, 'x');
  std::string bytes = *encode(module);
  EXPECT_EQ(outcome(bytes), "fine");

  program.name += 'x';
  const Result<std::string> longer = encode(module);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.diagnostics()[0].code, Code::W009);
  EXPECT_TRUE(longer.diagnostics()[0].problem.ends_with(
      "…` takes 67108868 bytes encoded; 67108864 is the limit"));

  bytes.resize(bytes.size() + 4);
  set_word(bytes, 36, kMaxEncodedBytes + 4);
  seal(bytes);
  EXPECT_EQ(outcome(bytes), "W009: `item 0` takes 67108868 bytes encoded; 67108864 is the limit");
}

TEST(Wire, W010Text) {
  expect({{item(1, {4, 0x80616161}), "W010: text at byte 47 is not valid UTF-8"},
          {program_with({1, 2, 0xafc0}), "W010: text at byte 68 is not valid UTF-8"}});
  Op op = lawful();
  op.description = "\xff";
  const Result<std::string> bytes = encode(Module{{op}});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.diagnostics()[0].code, Code::W010);
  for (const std::string_view text : {std::string_view("\x1b"), std::string_view("\0", 1),
                                      std::string_view("\x7f"), std::string_view("\xc2\x85")}) {
    op.description = "a " + std::string(text);
    const Result<std::string> refused = encode(Module{{op}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.diagnostics()[0].code, Code::W010);
  }
  op.description = "\t\n";
  EXPECT_TRUE(encode(Module{{op}}));
}

TEST(Wire, LawsThatCannotBeWrittenAreReported) {
  const Law laws[] = {
      {LawKind::Identity, {}},
      {LawKind::Commutative, {Direction::NonDecreasing}},
      {LawKind::Identity, {"some.op"}},
      {LawKind::Identity, {TypedBits{DataType::U32, {{1, 1}}}}},
      {LawKind::Identity, {TypedBits{DataType::Bytes, {}}}},
      {LawKind::ZeroProduct, {TypedBits{DataType::U32, {{1}}}}},
      {LawKind::ZeroProduct, {TypedBits{DataType::Bool, {{2}}}}},
  };
  for (const Law& law : laws) {
    Op op;
    op.signature.output = DataType::U32;
    op.laws = {law};
    const Result<std::string> bytes = encode(Module{{op}});
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.diagnostics()[0].code, Code::W007);
  }
}

// --- Digests ------------------------------------------------------------------------------------

TEST(Wire, DigestsAreOfTheItems) {
  EXPECT_EQ(digest(Module{}), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
  const Module module = example();
  EXPECT_EQ(digest(module), digest(std::get<Program>(module.items[0])));
  EXPECT_EQ(digest(module), "e30d6040b24ea70ca77072c5d86586f5");
  Module renamed = module;
  std::get<Program>(renamed.items[0]).name = "q";
  EXPECT_NE(digest(renamed), digest(module));
}

// --- The page -----------------------------------------------------------------------------------

// docs/wire-format.md lists the tags that the tables have, and no others.
TEST(Wire, ThePageListsEveryTag) {
  std::ifstream file(source_root() + "/docs/wire-format.md");
  std::vector<std::string> listed, expected;
  bool in_tags = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| tag | name |")) {
      in_tags = true;
    } else if (!line.starts_with("|")) {
      in_tags = false;
    } else if (in_tags && !line.starts_with("|--")) {
      std::istringstream cells(line);
      std::string bar, tag, row_name;
      cells >> bar >> tag >> bar >> std::ws;
      std::getline(cells, row_name, '|');
      listed.push_back(tag + " " + row_name.substr(0, row_name.find_last_not_of(' ') + 1));
    }
  }
  const auto row = [&](auto tag, std::string_view row_name) {
    expected.push_back(std::to_string(static_cast<unsigned>(tag)) + " " + std::string(row_name));
  };
  row(ItemTag::Program, "program");
  row(ItemTag::Op, "op");
  row(ItemTag::ProgramWithTables, "program with tables");
  row(ItemTag::OpWithTables, "op with tables");
  for (BufferAccess access : {BufferAccess::ReadOnly, BufferAccess::ReadWrite,
                              BufferAccess::Uniform, BufferAccess::Workgroup}) {
    row(access, text(access));
  }
  for (const TypeInfo& type : all_types()) row(type.type, type.text);
  for (const LawInfo& law : all_laws()) row(law.kind, law.text);
  for (const OperationInfo& op : all_operations()) row(op.op, op.name);
#define STATEMENT(name, tag, meaning) row(StatementTag::name, #name);
#include "vyre/ir/ops.def"
  for (const AtomicInfo& atomic : all_atomics()) row(atomic.op, atomic.text);
  for (const CollectiveInfo& collective : all_collectives()) row(collective.op, collective.text);
  EXPECT_EQ(listed, expected);
}

}  // namespace
}  // namespace vyre
