// Whatever the generator makes is valid and survives text, wire and formatting unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/command.h"
#include "tests/support/generator.h"
#include "vyre/base/text.h"
#include "vyre/ir/walk.h"
#include "vyre/text/lexer.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

constexpr std::uint64_t kModules = 1500;

GeneratorOptions options_of(std::uint64_t seed) {
  GeneratorOptions options;
  options.race_free = seed % 4 == 0;
  if (seed % 16 == 1) options.statements = 120;
  if (seed % 16 == 2) options.depth = 8;
  if (seed % 16 == 3) options.programs = 3;
  return options;
}

std::string messages(const std::vector<Diagnostic>& diagnostics) {
  std::string all;
  for (const Diagnostic& diagnostic : diagnostics) all += render(diagnostic);
  return all;
}

// --- The generator -------------------------------------------------------------------------------

TEST(Generator, IsTheSameEverywhere) {
  // Changes with the generator, the operation tables and the library, and with nothing else.
  EXPECT_EQ(digest(generate(1)), "362e6ab0bb725e031e03737ea163857d");
  EXPECT_EQ(generate(2), generate(2));
  EXPECT_NE(generate(2), generate(3));
}

TEST(Generator, MakesValidCanonicalModules) {
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const std::vector<Diagnostic> diagnostics = validate(module);
    ASSERT_TRUE(diagnostics.empty()) << "seed " << seed << "\n"
                                     << messages(diagnostics) << print(module);
    for (const Item& item : module.items) {
      const Op* op = std::get_if<Op>(&item);
      const std::size_t parameters = op != nullptr ? op->signature.inputs.size() : 0;
      const Body& body = body_of(item);
      ASSERT_EQ(canonical(body, static_cast<std::uint32_t>(parameters)), body) << "seed " << seed;
    }
  }
}

// What the generator is there for: everything that the tables have turns up.
TEST(Generator, CoversTheLanguage) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    std::map<std::string_view, DataType> outputs;
    for (const Op* op : Registry().all()) outputs[op->id] = op->signature.output;
    for (const Item& item : module.items) {
      if (const Op* op = std::get_if<Op>(&item)) outputs[op->id] = op->signature.output;
    }
    for (const Item& item : module.items) {
      const Program* program = std::get_if<Program>(&item);
      const Body& body = body_of(item);
      std::vector<DataType> locals(body.locals.size(), DataType::U32);  // as loop variables are
      if (const Op* op = std::get_if<Op>(&item)) {
        std::ranges::copy(op->signature.inputs, locals.begin());
      }
      std::vector<DataType> types(body.exprs.size());
      std::uint32_t typed = 0;
      const auto type_up_to = [&](ExprId last) {
        for (; typed <= last.index; ++typed) {
          const Expr& expr = body.exprs[typed];
          const auto args = operands(body, expr);
          std::string what(info(expr.op).name);
          DataType type = DataType::U32;
          switch (expr.op) {
            case Operation::Literal: type = type_of_detail(expr); break;
            case Operation::Local: type = locals[expr.imm]; break;
            case Operation::Load:
            case Operation::Length: {
              const BufferDecl& buffer = program->buffers[expr.imm];
              if (expr.op == Operation::Load) type = loaded_type(buffer.element);
              what +=
                  " " + std::string(text(buffer.access)) + " " + std::string(text(buffer.element));
              break;
            }
            case Operation::InvocationId:
            case Operation::WorkgroupId:
            case Operation::LocalId: what += " " + std::to_string(expr.detail); break;
            case Operation::Select: type = types[args[1].index]; break;
            case Operation::Cast:
              type = type_of_detail(expr);
              what += " " + std::string(text(types[args[0].index]));
              break;
            case Operation::Vec2: type = DataType::Vec2U32; break;
            case Operation::Vec4: type = DataType::Vec4U32; break;
            case Operation::Lane:
              what += " " + std::string(text(types[args[0].index])) + std::to_string(expr.detail);
              break;
            case Operation::Call:
              type = outputs.at(body.callees[expr.imm]);
              seen.insert("Call " + body.callees[expr.imm]);
              break;
            default:
              type = result_of(expr.op, types[args[0].index]);
              what += " " + std::string(text(types[args[0].index]));
              break;
          }
          types[typed] = type;
          seen.insert(what);
          if (is_form(expr.op))
            seen.insert(std::string(info(expr.op).name) + " -> " + std::string(text(type)));
        }
      };
      for (const Stmt& stmt : body.stmts) {
        for (ExprId root : roots(stmt)) type_up_to(root);
        if (const Let* let = std::get_if<Let>(&stmt))
          locals[let->local.index] = types[let->value.index];
        if (const Atomic* atomic = std::get_if<Atomic>(&stmt)) {
          const DataType element = program->buffers[atomic->buffer.index].element;
          if (atomic->result.exists()) locals[atomic->result.index] = element;
          seen.insert(std::string(info(atomic->op).text) + " " + std::string(text(element)));
        }
        if (const If* branch = std::get_if<If>(&stmt); branch && is_else_if(body, *branch)) {
          seen.insert("else if");
        }
        if (const Store* store = std::get_if<Store>(&stmt)) {
          const BufferDecl& buffer = program->buffers[store->buffer.index];
          seen.insert("Store " + std::string(text(buffer.access)) + " " +
                      std::string(text(buffer.element)));
        }
        seen.insert("statement " + std::to_string(stmt.index()));
      }
    }
  }

  std::vector<std::string> missing;
  const auto expect = [&](std::string what) {
    if (!seen.contains(what)) missing.push_back(std::move(what));
  };
  for (const TypeInfo& type : all_types()) {
    const std::string name(type.text);
    for (BufferAccess access : {BufferAccess::ReadOnly, BufferAccess::ReadWrite,
                                BufferAccess::Uniform, BufferAccess::Workgroup}) {
      const bool workgroup = access == BufferAccess::Workgroup;
      if (type.type == DataType::Bytes && workgroup) continue;
      expect("Load " + std::string(text(access)) + " " + name);
      expect("Length " + std::string(text(access)) + " " + name);
      if (workgroup || access == BufferAccess::ReadWrite) {
        expect("Store " + std::string(text(access)) + " " + name);
      }
    }
    if (type.type == DataType::Bytes) continue;
    if (!is_vector(type.type)) expect("Literal -> " + name);
    for (std::string_view form : {"Local", "Select", "Call"})
      expect(std::string(form) + " -> " + name);
    for (const TypeInfo& target : all_types()) {
      if (target.type != DataType::Bytes && cast_exists(type.type, target.type)) {
        expect("Cast " + name);
        expect("Cast -> " + std::string(target.text));
      }
    }
    for (const OperationInfo& row : all_operations()) {
      if (!is_form(row.op) && contains(row.types, type.type)) {
        expect(std::string(row.name) + " " + name);
      }
    }
    for (std::size_t lane = 0; is_vector(type.type) && lane < type.lanes; ++lane) {
      expect("Lane " + name + std::to_string(lane));
    }
  }
  for (std::string_view id : {"InvocationId", "WorkgroupId", "LocalId"}) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      expect(std::string(id) + " " + std::to_string(axis));
  }
  for (const AtomicInfo& row : all_atomics()) {
    for (std::string_view type : {"u32", "i32"})
      expect(std::string(row.text) + " " + std::string(type));
  }
  for (const Op* op : Registry().all()) expect("Call " + op->id);
  for (std::size_t i = 0; i < std::variant_size_v<Stmt>; ++i)
    expect("statement " + std::to_string(i));
  expect("else if");
  EXPECT_EQ(missing, std::vector<std::string>());
}

// Of a program without races: where each statement reads and writes.
TEST(Generator, RaceFreeProgramsKeepToTheirElements) {
  GeneratorOptions options;
  options.race_free = true;
  std::size_t stores = 0, updates = 0, shared_loads = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    for (const Item& item : generate(seed, options).items) {
      const Program* program = std::get_if<Program>(&item);
      if (program == nullptr) continue;
      ASSERT_EQ(program->workgroup_size[1] * program->workgroup_size[2], 1u);
      const Body& body = program->body;
      const auto is_own = [&](BufferId buffer, ExprId index) {
        const bool workgroup = program->buffers[buffer.index].access == BufferAccess::Workgroup;
        const Operation own = workgroup ? Operation::LocalId : Operation::InvocationId;
        return body[index].op == own && body[index].detail == 0;
      };
      std::map<std::uint32_t, AtomicOp> updated;
      for (const Stmt& stmt : body.stmts) {
        const Atomic* atomic = std::get_if<Atomic>(&stmt);
        if (atomic == nullptr) continue;
        const auto [known, fresh] = updated.try_emplace(atomic->buffer.index, atomic->op);
        ASSERT_EQ(known->second, atomic->op) << "seed " << seed;
        ASSERT_FALSE(atomic->result.exists());
        ASSERT_NE(atomic->op, AtomicOp::Exchange);
        ASSERT_NE(atomic->op, AtomicOp::CompareExchange);
        ++updates;
      }
      // Workgroup memory has phases, which the barriers of the outermost block separate.
      bool others_read = false, stored = false;
      StmtId next_outer{0u};
      for (std::uint32_t i = 0; i < body.stmts.size(); ++i) {
        const Stmt& stmt = body.stmts[i];
        if (StmtId{i} == next_outer) {
          if (std::holds_alternative<Barrier>(stmt)) others_read = stored = false;
          next_outer = next(body, next_outer);
        }
        for (ExprId root : roots(stmt)) {
          for_each_use(body, root, [&](ExprId id) {
            const Expr& expr = body[id];
            if (expr.op != Operation::Load) return;
            const BufferAccess access = program->buffers[expr.imm].access;
            const bool own = is_own(BufferId{expr.imm}, expr.args[0]);
            EXPECT_FALSE(updated.contains(expr.imm)) << "seed " << seed;
            EXPECT_TRUE(own || access != BufferAccess::ReadWrite) << "seed " << seed;
            if (own || access != BufferAccess::Workgroup) return;
            others_read = true;
            ++shared_loads;
          });
        }
        if (const Store* store = std::get_if<Store>(&stmt)) {
          ASSERT_TRUE(is_own(store->buffer, store->index)) << "seed " << seed;
          ASSERT_FALSE(updated.contains(store->buffer.index)) << "seed " << seed;
          stored |= program->buffers[store->buffer.index].access == BufferAccess::Workgroup;
          ++stores;
        }
        ASSERT_FALSE(others_read && stored) << "seed " << seed << "\n" << print(*program);
      }
    }
  }
  EXPECT_GT(stores, 100u);
  EXPECT_GT(updates, 100u);
  EXPECT_GT(shared_loads, 10u);
}

// --- Text and wire -------------------------------------------------------------------------------

TEST(RoundTrip, Text) {
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const std::string text = print(module);
    const Result<Module> parsed = parse(text);
    ASSERT_TRUE(parsed.ok()) << messages(parsed.diagnostics()) << text;
    ASSERT_EQ(*parsed, module) << "seed " << seed << "\n" << text;
    ASSERT_EQ(print(*parsed), text) << "seed " << seed;
    ASSERT_EQ(digest(*parsed), digest(module));
    const Result<std::string> formatted = format({"", text});
    ASSERT_TRUE(formatted.ok());
    ASSERT_EQ(*formatted, text) << "seed " << seed;
  }
}

TEST(RoundTrip, Wire) {
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const Result<std::string> bytes = encode(module);
    ASSERT_TRUE(bytes.ok()) << "seed " << seed;
    const Result<Module> decoded = decode(*bytes);
    ASSERT_TRUE(decoded.ok()) << "seed " << seed << messages(decoded.diagnostics());
    ASSERT_EQ(*decoded, module) << "seed " << seed;
    const Result<std::string> again = encode(*decoded);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(*again, *bytes) << "seed " << seed;
    ASSERT_EQ(digest(*decoded), digest(module));
  }
}

// What a command prints when it is given the bytes on standard input.
std::string output_of(std::string_view verb, std::string_view input) {
  const std::string_view arguments[] = {verb, "-"};
  const CommandResult result = run_vyre(arguments, input);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

TEST(RoundTrip, EveryDumpLoadsAgain) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Module module = generate(seed, options_of(seed));
    const std::string bytes = output_of("encode", print(module));
    ASSERT_EQ(bytes, *encode(module)) << "seed " << seed;
    const std::string text = output_of("decode", bytes);
    const Result<Loaded> loaded = load({"", text});
    ASSERT_TRUE(loaded.ok()) << messages(loaded.diagnostics()) << text;
    ASSERT_EQ(loaded->module, module) << "seed " << seed;
  }
}

// --- Formatting ----------------------------------------------------------------------------------

std::string in_base(std::string digits_reversed, std::string_view prefix, Random& random) {
  std::string out(prefix);
  if (random.one_in(4)) out += random.one_in(2) ? "0" : "0_0";
  for (std::size_t i = digits_reversed.size(); i-- > 0;) {
    char digit = digits_reversed[i];
    if (random.one_in(2))
      digit = static_cast<char>(std::toupper(static_cast<unsigned char>(digit)));
    out += digit;
    if (i > 0 && random.one_in(8)) out += '_';
  }
  return out;
}

// Another spelling of a number that print() wrote.
std::string respelt(std::string_view number, bool takes_suffix, Random& random) {
  __extension__ using Wide = unsigned __int128;
  const bool hexadecimal = number.starts_with("0x");
  const std::size_t end = std::min(number.size(), number.find_first_of("ui"));
  std::string suffix(number.substr(end));
  Wide value = 0;
  for (char c : number.substr(hexadecimal ? 2 : 0, end - (hexadecimal ? 2 : 0))) {
    const unsigned digit = static_cast<unsigned>(is_digit(c) ? c - '0' : c - 'a' + 10);
    value = value * (hexadecimal ? 16 : 10) + digit;
  }
  const unsigned bases[] = {2, 10, 16};
  const unsigned base = random.pick(bases);
  std::string reversed;
  do {
    reversed += "0123456789abcdef"[static_cast<unsigned>(value % base)];
    value /= base;
  } while (value != 0);
  if (suffix.empty() && takes_suffix && random.one_in(4)) suffix = "u32";
  const std::string_view prefix = base == 2 ? "0b" : base == 16 ? "0x" : "";
  return in_base(reversed, prefix, random) + suffix;
}

// The same program in another layout: redundant parentheses, other literals, white space and
// comments between any two tokens. The comments are all different.
std::string mangle(const std::string& text, Random& random, std::vector<std::string>& comments) {
  const Source source{"", text};
  const Parsed parsed = parse_source(source);
  std::map<std::uint32_t, int> opened, closed;
  std::set<std::uint32_t> values;
  for (const ItemPositions& item : parsed.positions) {
    for (const Span& use : item.uses) {
      values.insert(use.begin);
      if (!random.one_in(6)) continue;
      ++opened[use.begin];
      ++closed[use.end];
    }
  }
  constexpr std::string_view kSpaces[] = {" ", "  ", "\t", "\n", "\r\n", "\n\n", "\n \n\n"};
  constexpr std::string_view kTexts[] = {"plain", "größer → ∞", "}{)(\"", "// again", "\\ \\n"};
  std::string out;
  const auto gap = [&](bool needed) {
    if (needed || random.one_in(3)) out += random.pick(kSpaces);
    if (random.one_in(40)) {
      comments.push_back("// " + std::to_string(comments.size()) + ": " +
                         std::string(random.pick(kTexts)));
      out += comments.back();
      if (random.one_in(4)) out += "  ";
      out += random.one_in(3) ? "\n\n" : "\n";
    }
  };
  Findings findings;
  Lexer lexer(text, findings);
  std::uint32_t last_end = 0;
  for (Token token = lexer.next(); token.kind != Tok::End; token = lexer.next()) {
    gap(token.span.begin > last_end);
    for (int i = opened[token.span.begin]; i > 0; --i) {
      out += '(';
      gap(false);
    }
    const std::string_view spelling = lexer.text(token.span);
    out += token.kind == Tok::Number ? respelt(spelling, values.contains(token.span.begin), random)
                                     : std::string(spelling);
    for (int i = closed[token.span.end]; i > 0; --i) {
      gap(false);
      out += ')';
    }
    last_end = token.span.end;
  }
  gap(true);
  return out;
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Format, KeepsTheProgramAndEveryComment) {
  std::size_t comment_count = 0;
  for (std::uint64_t seed = 0; seed < kModules; ++seed) {
    const Module module = generate(seed, options_of(seed));
    Random random(seed);
    std::vector<std::string> comments;
    const std::string mangled = mangle(print(module), random, comments);
    const Result<Module> parsed = parse(mangled);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << "\n"
                             << messages(parsed.diagnostics()) << mangled;
    ASSERT_EQ(*parsed, module) << "seed " << seed << "\n" << mangled;
    const Result<std::string> formatted = format({"", mangled});
    ASSERT_TRUE(formatted.ok()) << "seed " << seed;
    const Result<Module> kept = parse(*formatted);
    ASSERT_TRUE(kept.ok()) << "seed " << seed << "\n" << messages(kept.diagnostics()) << *formatted;
    ASSERT_EQ(*kept, module) << "seed " << seed << "\n" << *formatted;
    const Result<std::string> again = format({"", *formatted});
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(*again, *formatted) << "seed " << seed << "\n" << mangled;
    for (const std::string& comment : comments) {
      ASSERT_EQ(occurrences(*formatted, comment + "\n"), 1u)
          << "seed " << seed << ": " << comment << "\n"
          << *formatted;
    }
    comment_count += comments.size();
  }
  EXPECT_GT(comment_count, kModules);
}

}  // namespace
}  // namespace vyre
