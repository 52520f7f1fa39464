// Expanding calls changes nothing but the calls: generated programs give the same bytes, library
// ops the same values, and what is one expression becomes just that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "tests/support/command.h"
#include "vyre/base/random.h"
#include "vyre/conform/generator.h"
#include "vyre/interp/machine.h"
#include "vyre/interp/script.h"
#include "vyre/library/library.h"
#include "vyre/passes/inline.h"
#include "vyre/prove/prove.h"
#include "vyre/text/lexer.h"
#include "vyre/validate/validate.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

Result<Outputs> run_case(const Program& program, const Case& c, const Registry& registry) {
  std::vector<HostBuffer> buffers;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (!is_bound(program.buffers[i].access)) continue;
    buffers.emplace_back(program.buffers[i].name, c.contents[i]);
  }
  DispatchOptions options;
  options.device = &reference();
  options.run.threads = 1;
  const Result<Linked> linked = link(program, registry);
  if (!linked.ok()) return linked.diagnostics();
  return dispatch(*linked, c.grid, buffers, options);
}

bool has_declaration(const BufferDecl& buffer) {
  return is_bound(buffer.access) || buffer.access == BufferAccess::Workgroup;
}

TEST(Inline, GeneratedProgramsGiveTheSameBytes) {
  const std::uint64_t count = cases(300, 5'000);
  GeneratorOptions options;
  options.ops = 6;
  std::size_t with_calls = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    options.dense = seed % 2 == 1;
    const Case c = generate_case(seed, options);
    Registry registry;
    ASSERT_TRUE(registry.add(c.module).ok());
    const Result<Linked> linked = link(c.program(), registry);
    ASSERT_TRUE(linked.ok());
    const Result<Program> flat = inline_calls(*linked);
    ASSERT_TRUE(flat.ok()) << seed << ": " << flat.diagnostics()[0].problem;
    EXPECT_TRUE(flat->body.callees.empty());
    if (!c.program().body.callees.empty()) ++with_calls;
    // What is printed loads again, and does the same. It is the same where it has no arrays: what
    // they became is printed as what they were.
    const std::string text = print(Module{{*flat}});
    const Result<Loaded> loaded = load_module({"inlined", text});
    ASSERT_TRUE(loaded.ok()) << seed << ": " << render(loaded.diagnostics()[0], false) << text;
    const Program& read = std::get<Program>(loaded->module.items[0]);
    const bool is_plain = std::ranges::all_of(flat->buffers, has_declaration);
    EXPECT_TRUE(!is_plain || read == *flat) << seed;
    EXPECT_EQ(*inline_calls(*linked), *flat);  // again
    const Result<Outputs> before = run_case(c.program(), c, registry);
    const Result<Outputs> after = run_case(*flat, c, registry);
    const Result<Outputs> reread = run_case(read, c, registry);
    ASSERT_TRUE(before.ok() && after.ok() && reread.ok()) << seed;
    for (std::size_t i = 0; i < before->buffers.size(); ++i) {
      EXPECT_EQ(before->buffers[i].bytes, after->buffers[i].bytes) << "seed " << seed << "\n"
                                                                   << print(c.module) << text;
      EXPECT_EQ(before->buffers[i].bytes, reread->buffers[i].bytes) << "seed " << seed << "\n"
                                                                    << text;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(with_calls, count / 2);
}

// A value that is often at an edge.
Bits random_value(Random& random, DataType type) {
  constexpr std::uint32_t kEdges[] = {0, 1, 2, 31, 0x7fffffff, 0x80000000, 0xffffffff};
  Bits bits;
  for (std::size_t i = 0; i < words(type); ++i) {
    bits.lanes[i] =
        random.one_in(3) ? random.pick(kEdges) : static_cast<std::uint32_t>(random.next());
    if (random.one_in(4)) bits.lanes[i] >>= random.below(32);
  }
  if (type == DataType::Bool) bits.lanes[0] &= 1;
  return bits;
}

TEST(Inline, LibraryOpsGiveTheSameValues) {
  const Registry library;
  Random random(4);
  RunOptions options;
  Control control{options, 1};
  NoWatch watch;
  std::size_t with_calls = 0;
  for (const Op* op : library.all()) {
    if (!is_elementwise(*op)) continue;
    const Result<FlatOp> flat = inline_calls(*op, library);
    ASSERT_TRUE(flat.ok()) << op->id;
    EXPECT_TRUE(flat->op.body.callees.empty());
    if (!flat->memory.empty()) continue;  // of arrays and tables, which no op can have by itself
    if (op->body.callees.empty()) {
      EXPECT_EQ(flat->op, *op);
      continue;
    }
    ++with_calls;
    EXPECT_EQ(validate(Module{{flat->op}}, builtin_ops()).size(), 1u)
        << op->id;  // V039: another body
    const Script scripts[] = {make_script(link(*op, library)),
                              make_script(link(flat->op, library))};
    Machine<NoWatch> called(scripts[0], {}, control, watch);
    Machine<NoWatch> expanded(scripts[1], {}, control, watch);
    for (int i = 0; i < 40; ++i) {
      std::vector<Bits> arguments;
      for (DataType type : op->signature.inputs) arguments.push_back(random_value(random, type));
      const auto last = static_cast<std::uint32_t>(scripts[0].ops.size() - 1);
      EXPECT_EQ(called.call_op(last, arguments), expanded.call_op(0, arguments)) << op->id;
    }
  }
  EXPECT_GT(with_calls, 50u);
}

// --- No cost ------------------------------------------------------------------------------------

// The body of an op of one expression, as it stands in the library's file, with elements of buffers
// in the place of its parameters: what one would write by hand.
std::string by_hand(const Op& op, std::string_view text) {
  const std::size_t at = text.rfind("\n  return ") + 10;
  const std::string_view expression = text.substr(at, text.rfind("\n}") - at);
  Findings findings;
  Lexer lexer(expression, findings);
  std::string out;
  std::size_t done = 0;
  std::string_view before;
  for (Token token = lexer.next_but_comments(); token.kind != Tok::End;
       token = lexer.next_but_comments()) {
    const std::string_view word =
        expression.substr(token.span.begin, token.span.end - token.span.begin);
    out += expression.substr(done, token.span.begin - done);
    done = token.span.end;
    const bool is_call = expression.substr(done).starts_with('(');
    bool is_parameter = false;
    for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
      if (before != "." && !is_call && word == op.body.locals[i].name) {
        out += "p" + std::to_string(i) + "[i]";
        is_parameter = true;
      }
    }
    if (!is_parameter) out += word;
    before = word;
  }
  out += expression.substr(done);
  std::string program = "program p workgroup(64) {\n";
  for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
    program += "read p" + std::to_string(i) + ": " +
               std::string(tables::text(op.signature.inputs[i])) + "[]\n";
  }
  program += "read_write out: " + std::string(tables::text(op.signature.output)) + "[]\n";
  return program + "let i = invocation_id.x\nif i < len(out) {\nout[i] = " + out + "\n}\n}\n";
}

std::string composed(const Op& op) {
  Program program = *elementwise(op);
  program.name = "p";
  for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
    program.buffers[i].name = "p" + std::to_string(i);
  }
  return print(Module{{program}});
}

TEST(Inline, OneExpressionCostsNothing) {
  std::size_t compared = 0;
  for (const LibraryEntry& entry : library_entries()) {
    const Op& op = *Registry().find(entry.id);
    if (op.body.stmts.size() != 1 || !is_elementwise(op) || !op.body.tables.empty()) continue;
    ++compared;
    const CommandResult mine = run_vyre({{"opt", "-"}}, by_hand(op, entry.text()));
    const CommandResult made = run_vyre({{"opt", "-"}}, composed(op));
    ASSERT_EQ(mine.status, 0) << mine.err << by_hand(op, entry.text());
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(mine.out, made.out);
    if (!op.body.callees.empty()) continue;  // an op that it calls may have statements
    EXPECT_EQ(made.out.find("__call"), std::string::npos) << made.out;
  }
  EXPECT_GT(compared, 200u);
}

// --- Size ---------------------------------------------------------------------------------------

TEST(Inline, ReachesTheLimitWithoutOverflow) {
  // 9 expressions for each of 100 000 calls, and those of the statements around them.
  std::string text =
      "op my.f(x: u32) -> u32 { return ~(~(~(~(~(~(~(~x))))))) }\n"
      "program p workgroup(1) {\nread_write out: u32[]\n";
  for (int i = 0; i < 99'000; ++i) text += "out[0] = my.f(1)\n";
  text += "}\n";
  const Result<Loaded> loaded = load_module({"large", text});
  ASSERT_TRUE(loaded.ok());
  Registry registry;
  ASSERT_TRUE(registry.add(loaded->module).ok());
  const Program& program = std::get<Program>(loaded->module.items[1]);
  const Result<Linked> linked = link(program, registry);
  ASSERT_TRUE(linked.ok());
  const Result<Program> flat = inline_calls(*linked);
  ASSERT_TRUE(flat.ok()) << flat.diagnostics()[0].problem;
  EXPECT_TRUE(validate(*flat).empty());
}

TEST(Inline, GoesThroughLongChainsOfBranches) {
  // An `else if` is no level, so there can be very many.
  std::string op = "op my.f(x: u32) -> u32 {\n";
  std::string program = "program p workgroup(1) {\nread_write out: u32[]\n";
  for (int i = 0; i < 10'000; ++i) {
    const std::string number = std::to_string(i);
    op += (i == 0 ? "if" : " else if") + (" x == " + number) + " { return " + number + " + 1 }";
    program +=
        (i == 0 ? "if" : " else if") + (" out[1] == " + number) + " { out[0] = " + number + " }";
  }
  const Result<Loaded> loaded =
      load_module({"long", op + "\nreturn 0 }\n" + program + "\nout[2] = my.f(out[3]) }\n"});
  ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false);
  Registry registry;
  ASSERT_TRUE(registry.add(loaded->module).ok());
  const Result<Linked> linked = link(std::get<Program>(loaded->module.items[1]), registry);
  ASSERT_TRUE(linked.ok());
  const Result<Program> flat = inline_calls(*linked);
  ASSERT_TRUE(flat.ok()) << flat.diagnostics()[0].problem;
  EXPECT_TRUE(validate(*flat).empty());
}

// --- Early exits ---------------------------------------------------------------------------------

// Writes loops and branches that are left early, in any way.
class ExitWriter {
 public:
  explicit ExitWriter(std::uint64_t seed) : random_(seed) {}

  // `leave` is what ends the body.
  std::string body(std::string_view leave) {
    leave_ = leave;
    text_ = "let acc = x\n";
    block(0, false);
    return std::exchange(text_, {});
  }

 private:
  // A condition that holds now and then.
  std::string condition() {
    return "(acc ^ " + std::to_string(random_.below(64)) + ") % " +
           std::to_string(2 + random_.below(5)) + " == 0";
  }
  void change() { text_ += "acc = acc * 31 + " + std::to_string(random_.below(100)) + "\n"; }
  void branch(std::string_view end) {
    text_ += "if " + condition() + " {\n";
    if (random_.one_in(2)) change();
    text_ += std::string(end) + "\n}\n";
  }

  void block(int depth, bool in_loop) {
    const std::uint32_t count = 1 + random_.below(random_.one_in(4) ? 14 : 5);
    for (std::uint32_t i = 0; i < count; ++i) {
      change();
      const std::uint32_t kind = random_.below(8);
      if (in_loop && kind < 3) {
        branch("continue");
      } else if (in_loop && kind == 3) {
        branch("break");
      } else if (kind == 4) {
        branch(leave_);
      } else if (kind == 5 && depth < 4) {
        const std::string name = "round" + std::to_string(names_++);
        text_ += "for " + name + " in 0..3 {\nacc = acc ^ " + name + "\n";
        block(depth + 1, true);
        text_ += "}\n";
      } else if (kind == 6 && depth < 4) {
        text_ += "if " + condition() + " {\n";
        block(depth + 1, in_loop);
        text_ += "} else {\n";
        block(depth + 1, in_loop);
        text_ += "}\n";
      } else if (kind == 7 && depth < 4) {
        text_ += "{\n";
        block(depth + 1, in_loop);
        text_ += "}\n";
      }
    }
  }

  Random random_;
  std::string text_;
  std::string_view leave_;
  int names_ = 0;
};

std::string with_exits(std::uint64_t seed) {
  ExitWriter writer(seed);
  return "op my.f(x: u32) -> u32 {\n" + writer.body("return acc + 1") +
         "return acc\n}\nprogram p workgroup(64) {\nread_write out: u32[]\nlet n = "
         "invocation_id.x\nlet x = my.f(n)\nout[n] = x\n" +
         writer.body("out[n] = acc + n\nreturn") + "out[n] = acc\n}\n";
}

// A round with guards, some of which end more than the round.
std::string with_guards(int count, bool has_others) {
  const auto body = [&](std::string_view leave) {
    std::string text = "let acc = x\nfor i in 0..9 {\nacc = acc * 31 + i\n";
    for (int k = 0; k < count; ++k) {
      const std::string number = std::to_string(k);
      text += "if acc % " + std::to_string(count) + " == " + number + " { continue }\n";
      text += "acc = acc ^ " + number + "\n";
      if (!has_others || k % 40 != 7) continue;
      text += "if acc % 1009 == " + number + " { break }\n";
      text += "if acc % 2003 == " + number + " { " + std::string(leave) + " }\n";
    }
    return text + "acc = acc + 7\n}\n";
  };
  return "op my.f(x: u32) -> u32 {\n" + body("return acc") +
         "return acc\n}\nprogram p workgroup(64) {\nread_write out: u32[]\nlet n = "
         "invocation_id.x\nlet x = my.f(n)\n" +
         body("out[n] = 1\nreturn") + "out[n] = acc\n}\n";
}

// Runs a text as it is, with its calls expanded, and on a CPU where there is that backend.
void expect_same_everywhere(const std::string& text, bool on_cpu) {
  const Result<Loaded> loaded = load_module({"exits", text});
  ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false) << text;
  const Result<Linked> linked = link(*loaded);
  ASSERT_TRUE(linked.ok()) << render(linked.diagnostics()[0], false);
  const Result<Program> flat = inline_calls(*linked);
  ASSERT_TRUE(flat.ok()) << flat.diagnostics()[0].problem << text;
  const auto words = [&](const Linked& program, Device& device) {
    DispatchOptions options;
    options.device = &device;
    const std::vector<std::byte> zeros(4 * 256);
    const std::vector<HostBuffer> buffers{{"out", zeros}};
    const Result<Outputs> outputs = dispatch(program, 4, buffers, options);
    EXPECT_TRUE(outputs.ok()) << render(outputs.diagnostics()[0], false);
    return outputs.ok() ? outputs->buffers[0].bytes : std::vector<std::byte>();
  };
  const std::vector<std::byte> expected = words(*linked, reference());
  EXPECT_EQ(words(Linked::trust(*flat), reference()), expected) << text << print(Module{{*flat}});
  if (!on_cpu) return;
  static const Opened cpu = find_backend("cpu")->open(0);
  if (cpu.device != nullptr) EXPECT_EQ(words(*linked, *cpu.device), expected) << text;
}

TEST(Inline, EarlyExitsGiveTheSameBytes) {
  const std::uint64_t count = cases(400, 10'000);
  for (std::uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_same_everywhere(with_exits(seed), seed % 16 == 0);
  }
}

TEST(Inline, RoundsHaveAnyNumberOfGuards) {
  for (const bool has_others : {false, true}) {
    expect_same_everywhere(with_guards(63, has_others), true);
    expect_same_everywhere(with_guards(200, has_others), true);
    expect_same_everywhere(with_guards(5'000, has_others), false);
  }
}

TEST(Inline, LoopsWithContinueNestAsDeeplyAsOthers) {
  std::string text =
      "program p workgroup(64) {\nread_write out: u32[]\nlet acc = invocation_id.x\n";
  for (int i = 0; i < 62; ++i) {
    const std::string number = std::to_string(i);
    text += "for round" + number + " in 0..2 {\nacc = acc * 31 + " + number +
            "\nif acc % 4 > 0 { continue }\n";
  }
  text += std::string(62, '}') + "\nout[invocation_id.x] = acc\n}\n";
  expect_same_everywhere(text, true);
}

}  // namespace
}  // namespace vyre
