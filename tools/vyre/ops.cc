// `vyre ops` and `vyre elementwise`: the operations and the standard library, from their tables.
#include <algorithm>
#include <map>
#include <optional>

#include "tools/vyre/command.h"
#include "tools/vyre/data.h"
#include "vyre/base/text.h"
#include "vyre/library/library.h"
#include "vyre/passes/inline.h"
#include "vyre/prove/prove.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

// --- Texts --------------------------------------------------------------------------------------

std::string types_of(const OperationInfo& row) {
  std::string out;
  for (const TypeInfo& type : all_types()) {
    if (contains(row.types, type.type)) out += (out.empty() ? "" : " ") + std::string(type.text);
  }
  return out;
}

std::string_view signature_of(const OperationInfo& row) {
  const bool unary = row.arity == 1;
  switch (row.signature) {
    case Signature::Form: return "";
    case Signature::Same: return unary ? "T -> T" : "T, T -> T";
    case Signature::Shift: return "T, u32 -> T; vectors T, T -> T";
    case Signature::Test:
      return unary ? "T -> u32; vectors T -> T" : "T, T -> u32; vectors T, T -> T";
  }
  return "";
}

std::string signature_of(const Op& op) {
  std::string out = "(";
  for (std::size_t i = 0; i < op.signature.inputs.size(); ++i) {
    out += (i > 0 ? ", " : "") + op.body.locals[i].name + ": " +
           std::string(text(op.signature.inputs[i]));
  }
  return out + ") -> " + std::string(text(op.signature.output));
}

std::string laws_of(const Op& op) {
  std::string out;
  for (const Law& law : op.laws) out += (out.empty() ? "" : " ") + print_law(law);
  return out;
}

std::string_view family_of(std::string_view id) { return id.substr(0, id.rfind('.')); }

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size() + 2), ' ');
  return out;
}

// Words one after the other, in lines that are indented.
std::string wrapped(const std::vector<std::string_view>& words, std::size_t indent) {
  constexpr std::size_t kLine = 96;
  std::string out;
  std::size_t column = kLine;
  for (std::string_view word : words) {
    if (column + 1 + word.size() > kLine) {
      out += (out.empty() ? "" : "\n") + std::string(indent - 1, ' ');
      column = indent - 1;
    }
    out += " " + std::string(word);
    column += 1 + word.size();
  }
  return out + "\n";
}

using Families = std::map<std::string_view, std::vector<std::string_view>>;
Families families(const Registry& registry) {
  Families all;
  for (std::string_view id : registry.ids()) all[family_of(id)].push_back(id);
  return all;
}

std::string listing(const Registry& registry) {
  std::string out = "operations:\n";
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op)) continue;
    out += "  " + padded(print_applied(row), 18) + std::string(row.meaning) + "\n";
  }
  out += "\natomics (statements; the result is the value before):\n";
  for (const AtomicInfo& row : all_atomics()) {
    out += "  " + padded(row.text, 26) + std::string(row.meaning) + "\n";
  }
  const Families all = families(registry);
  out += "\nlibrary, " + plural(registry.ids().size(), "op") + " in " + std::to_string(all.size()) +
         " families:\n";
  for (const auto& [family, ids] : all) {
    std::vector<std::string_view> names;
    for (std::string_view id : ids) names.push_back(id.substr(family.size() + 1));
    out += "  " + std::string(family) + "\n" + wrapped(names, 4);
  }
  return out + "\nvyre ops WORD… shows one operation, op or family, or searches for words.\n";
}

std::string describe(const OperationInfo& row) {
  std::string out = print_applied(row) + "\n  " + std::string(row.meaning) + "\n";
  out += "  types: " + types_of(row) + "\n";
  out += "  signature: " + std::string(signature_of(row)) + "\n";
  if (!row.laws.empty()) out += "  laws: " + std::string(row.laws) + "\n";
  return out;
}

std::string describe(const AtomicInfo& row) {
  return std::string(row.text) +
         (row.operands == 2 ? "(buffer[i], expected, value)\n" : "(buffer[i], value)\n") + "  " +
         std::string(row.meaning) +
         "; gives the value before\n  elements: u32 i32 of a read_write buffer\n";
}

std::string describe(const Op& op, const Registry& registry) {
  std::string out = print(Module{{op}});
  if (const LibraryEntry* entry = find_library_entry(op.id)) {
    for (std::size_t i = 0; i < entry->examples.size(); ++i) {
      out += (i == 0 ? "\nexample: " : "         ") + std::string(entry->examples[i]) + "\n";
    }
  }
  if (op.body.callees.empty()) return out;
  const Result<Op> flat = inline_calls(op, registry);
  if (!flat.ok()) return out;
  return out + "\nwithout calls:\n" + print(Module{{*flat}});
}

// --- Searching ----------------------------------------------------------------------------------

struct Found {
  std::vector<const OperationInfo*> operations;
  std::vector<const AtomicInfo*> atomics;
  std::vector<const Op*> ops;

  bool empty() const { return operations.empty() && atomics.empty() && ops.empty(); }
};

// Lower case without underscores, so that `mulhi` is near `mul_high`.
std::string squeezed(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(squeezed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// How well a name and what is said about it fit the words: 0 the name itself, 1 its beginning, 2
// words in the name, 3 words in the description; nothing where a word is missing.
std::optional<int> rank(std::string_view name, std::string_view description,
                        const std::vector<std::string>& words) {
  const std::string last = squeezed(name.substr(name.rfind('.') + 1));
  const std::string whole = squeezed(name);
  const std::string said = squeezed(description);
  std::string wanted;
  for (const std::string& word : words) wanted += word;
  if (last == wanted) return 0;
  if (last.starts_with(wanted)) return 1;
  const auto in_name = [&](const std::string& word) { return whole.find(word) != whole.npos; };
  const auto anywhere = [&](const std::string& word) {
    return in_name(word) || said.find(word) != said.npos;
  };
  if (std::ranges::all_of(words, in_name)) return 2;
  return std::ranges::all_of(words, anywhere) ? std::optional(3) : std::nullopt;
}

// What fits the words, the best first.
Found search(std::string_view wanted, const Registry& registry) {
  const std::vector<std::string> words = words_of(wanted);
  Found found;
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op) || row.precedence != 0) continue;
    if (rank(row.text, row.meaning, words).value_or(3) < 3) found.operations.push_back(&row);
  }
  for (const AtomicInfo& row : all_atomics()) {
    if (rank(row.text, row.meaning, words).value_or(3) < 3) found.atomics.push_back(&row);
  }
  std::map<int, std::vector<const Op*>> ranked;
  for (const Op* op : registry.all()) {
    if (const std::optional<int> fit = rank(op->id, op->description, words)) {
      ranked[*fit].push_back(op);
    }
  }
  for (const auto& [fit, ops] : ranked) found.ops.insert(found.ops.end(), ops.begin(), ops.end());
  return found;
}

// One operation, op or family by its name.
Found named(std::string_view wanted, const Registry& registry) {
  Found found;
  for (const OperationInfo& row : all_operations()) {
    if (!is_form(row.op) && (row.text == wanted || row.name == wanted)) {
      found.operations.push_back(&row);
    }
  }
  for (const AtomicInfo& row : all_atomics()) {
    if (row.text == wanted) found.atomics.push_back(&row);
  }
  if (const Op* op = registry.find(wanted)) found.ops.push_back(op);
  if (!found.empty()) return found;
  const std::string family = std::string(wanted) + (wanted.ends_with('.') ? "" : ".");
  for (const Op* op : registry.all()) {
    if (op->id.starts_with(family)) found.ops.push_back(op);
  }
  return found;
}

std::string text_of(const Found& found, bool in_full, const Registry& registry) {
  std::string out;
  for (const OperationInfo* row : found.operations) out += describe(*row);
  for (const AtomicInfo* row : found.atomics) out += describe(*row);
  for (const Op* op : found.ops) {
    out += in_full ? describe(*op, registry)
                   : op->id + signature_of(*op) + "\n    " + op->description + "\n";
  }
  return in_full || found.ops.empty() ? out : out + "\nvyre ops ID shows one of them.\n";
}

std::string json_of(const Found& found, bool in_full, const Registry& registry) {
  JsonList operations;
  for (const OperationInfo* row : found.operations) {
    JsonObject each;
    each.add("name", row->name).add("text", print_applied(*row)).add("types", types_of(*row));
    each.add("signature", signature_of(*row)).add("laws", row->laws).add("meaning", row->meaning);
    operations.add(each);
  }
  JsonList atomics;
  for (const AtomicInfo* row : found.atomics) {
    atomics.add(JsonObject().add("text", row->text).add("meaning", row->meaning));
  }
  JsonList ops;
  for (const Op* op : found.ops) {
    JsonList laws;
    for (const Law& law : op->laws) laws.add(print_law(law));
    JsonList examples;
    if (const LibraryEntry* entry = find_library_entry(op->id)) {
      for (std::string_view example : entry->examples) examples.add(example);
    }
    JsonObject each;
    each.add("id", op->id).add("signature", signature_of(*op));
    each.add("description", op->description).add("laws", laws).add("examples", examples);
    if (in_full) each.add("text", describe(*op, registry));
    ops.add(each);
  }
  return JsonObject().add("operations", operations).add("atomics", atomics).add("ops", ops).line();
}

Found everything(const Registry& registry) {
  Found found{{}, {}, registry.all()};
  for (const OperationInfo& row : all_operations()) {
    if (!is_form(row.op)) found.operations.push_back(&row);
  }
  for (const AtomicInfo& row : all_atomics()) found.atomics.push_back(&row);
  return found;
}

std::string markdown() {
  std::string out =
      "<!-- Generated by `vyre ops --markdown`; edit vyre/ir/ops.def, vyre/ir/laws.def and "
      "vyre/library/ instead. -->\n"
      "# Operations\n"
      "\n"
      "W is the width of a type in bits. Vectors work lane by lane as u32. No operation traps\n"
      "or is undefined. Every law is proved for all values by `./dev test`.\n";
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (char c : text) {
      if (c == '|') escaped += '\\';
      escaped += c;
    }
    return escaped;
  };
  const auto table = [&](std::string_view title, int arity) {
    out += "\n## " + std::string(title) +
           "\n\n| name | text | types | signature | meaning | laws |\n|---|---|---|---|---|---|\n";
    for (const OperationInfo& row : all_operations()) {
      if (is_form(row.op) || row.arity != arity) continue;
      out += "| " + std::string(row.name) + " | `" + cell(print_applied(row)) + "` | " +
             types_of(row) + " | " + std::string(signature_of(row)) + " | " + cell(row.meaning) +
             " | " + std::string(row.laws) + " |\n";
    }
  };
  table("Unary", 1);
  table("Binary", 2);
  out += "\n## Atomics\n\n| text | meaning |\n|---|---|\n";
  for (const AtomicInfo& row : all_atomics()) {
    out += "| `" + std::string(row.text) + "` | " + std::string(row.meaning) + " |\n";
  }
  out += "\n## Expression forms\n\n| name | meaning |\n|---|---|\n";
  for (const OperationInfo& row : all_operations()) {
    if (is_form(row.op))
      out += "| " + std::string(row.name) + " | " + std::string(row.meaning) + " |\n";
  }
  out += "\n## Laws\n\nf is the op that declares the law.\n\n| law | holds when |\n|---|---|\n";
  for (const LawInfo& row : all_laws()) {
    out += "| `" + std::string(row.text) + "` | " + std::string(row.meaning) + " |\n";
  }
  const Registry registry;
  const Families all = families(registry);
  out += "\n## Library\n\n" + plural(registry.ids().size(), "op") + ":";
  for (const auto& [family, ids] : all) {
    std::string anchor(family);
    std::erase(anchor, '.');
    out += " [" + std::string(family) + "](#" + anchor + ") (" + std::to_string(ids.size()) + ")" +
           (family == all.rbegin()->first ? ".\n" : ",");
  }
  for (const auto& [family, ids] : all) {
    out += "\n### " + std::string(family) +
           "\n\n| op | meaning | laws | example |\n|---|---|---|---|\n";
    for (std::string_view id : ids) {
      const Op& op = *registry.find(id);
      const std::vector<std::string_view>& examples = find_library_entry(id)->examples;
      const std::string_view name = id.substr(family.size() + 1);
      out +=
          "| `" + std::string(name) + signature_of(op) + "` | " + cell(op.description) + " | " +
          laws_of(op) + " | " +
          (examples.empty() ? "" : "`" + std::string(examples[0].substr(family.size() + 1)) + "`") +
          " |\n";
    }
  }
  return out;
}

// --- Proving ------------------------------------------------------------------------------------

struct Proving {
  std::string text;
  JsonList json;
  std::vector<Diagnostic> wrong;
};

// Where an op of the file declares a law.
Diagnostic located(Diagnostic diagnostic, const Loaded& known, const Op& op, std::size_t law) {
  for (std::size_t i = 0; i < known.positions.size(); ++i) {
    const Op* own = std::get_if<Op>(&known.module.items[i]);
    if (own == nullptr || own->id != op.id) continue;
    return vyre::located(std::move(diagnostic), known.source, known.positions[i].laws[law]);
  }
  return diagnostic;
}

std::string seconds_text(const Proof& proof) {
  if (proof.remembered) return "proved before";
  char text[32];
  std::snprintf(text, sizeof text, "proved in %.2f s", proof.seconds);
  return text;
}

// False: there is no solver.
bool prove_laws(const Op& op, const Loaded& known, const Registry& registry, Proving& proving) {
  proving.text += op.id + (op.laws.empty() ? ": declares no laws\n" : "\n");
  for (std::size_t i = 0; i < op.laws.size(); ++i) {
    const Law& law = op.laws[i];
    const auto wrong = [&](Diagnostic diagnostic) {
      proving.wrong.push_back(located(std::move(diagnostic), known, op, i));
    };
    const std::string name = print_law(law);
    const Result<Proof> proof = prove(law, op, registry);
    if (!proof.ok()) {
      proving.wrong.assign(proof.diagnostics().begin(), proof.diagnostics().end());
      return false;
    }
    std::string verdict = seconds_text(*proof);
    if (proof->verdict == Proof::Verdict::Proved && !proof->values.empty()) {
      verdict += ": " + values_text(proof->values);
    } else if (proof->verdict == Proof::Verdict::Refuted) {
      std::string why = ": it claims a counterexample, and there is none";
      if (!proof->values.empty()) why = " for " + values_text(proof->values);
      if (!proof->sides.empty()) {
        why += ": " + print_literal(proof->sides[0]) + " and " + print_literal(proof->sides[1]);
      }
      verdict = "refuted";
      wrong(diagnose<message::law_refuted>(name, op.id, why));
    } else if (proof->verdict == Proof::Verdict::Unknown) {
      verdict = "not proved";
      wrong(diagnose<message::law_unproved>(name, op.id, proof->reason));
    }
    proving.text += "  " + padded(name, 40) + verdict + "\n";
    proving.json.add(JsonObject()
                         .add("op", op.id)
                         .add("law", name)
                         .add("proved", proof->verdict == Proof::Verdict::Proved)
                         .add("seconds", Json(proof->seconds, 4)));
  }
  return true;
}

int report_proofs(const std::vector<const Op*>& ops, const Loaded& known, const Registry& registry,
                  bool json, const Console& console) {
  Proving proving;
  for (const Op* op : ops) {
    if (!prove_laws(*op, known, registry, proving)) return report(proving.wrong, json, console);
    if (json) continue;
    console.print(proving.text);
    std::fflush(console.out);
    proving.text.clear();
  }
  if (!proving.wrong.empty()) return report(proving.wrong, json, console);
  if (json) console.print(JsonObject().add("laws", proving.json).line());
  return kFine;
}

// The library and the ops of --file.
Result<Loaded> read_known(const Invocation& invocation, const Console& console) {
  if (!invocation.has("--file")) return Loaded{};
  Result<Source> source = read_input(invocation.value("--file"), console);
  if (!source.ok()) return source.diagnostics();
  return load_module(std::move(*source));
}

Diagnostic unknown_op(std::string_view id, const Registry& registry) {
  const std::string_view near = nearest(id, registry.ids());
  if (near.empty()) return diagnose<message::unknown_op_id>(shown(id));
  return diagnose<message::misspelt_topic>(shorten(id), near);
}

}  // namespace

int run_ops(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  if (invocation.has("--markdown")) return print_text(markdown(), json, console);
  const Result<Loaded> known = read_known(invocation, console);
  if (!known.ok()) return report(known.diagnostics(), json, console);
  const Registry& registry = known->registry;
  std::string wanted;
  for (std::string_view word : invocation.operands) {
    wanted += (wanted.empty() ? "" : " ") + std::string(word);
  }
  if (invocation.has("--prove")) {
    std::vector<const Op*> ops;
    if (wanted.empty() && !invocation.has("--file")) {
      return report({{diagnose<message::missing_operand>("ops --prove", "the id of an op",
                                                         invocation.verb.usage)}},
                    json, console);
    }
    if (wanted.empty()) {
      for (const Item& item : known->module.items) {
        if (const Op* op = std::get_if<Op>(&item)) ops.push_back(op);
      }
    } else if (const Op* op = registry.find(wanted)) {
      ops.push_back(op);
    }
    if (!ops.empty() || wanted.empty()) {
      return report_proofs(ops, *known, registry, json, console);
    }
    // A built-in operation is proved on each of its types.
    for (const Op* op : builtin_ops().all()) {
      if (!op->id.starts_with("builtin.")) continue;
      const OperationInfo& row = info(op->body[std::get<Return>(op->body.stmts[0]).value].op);
      if (row.text == wanted || row.name == wanted) ops.push_back(op);
    }
    if (!ops.empty()) return report_proofs(ops, *known, builtin_ops(), json, console);
    return report({{unknown_op(wanted, registry)}}, json, console);
  }
  if (wanted.empty()) {
    console.print(json ? json_of(everything(registry), false, registry) : listing(registry));
    return kFine;
  }
  Found found = named(wanted, registry);
  if (found.empty()) found = search(wanted, registry);
  if (!found.empty()) {
    const bool in_full = found.ops.size() == 1;
    console.print(json ? json_of(found, in_full, registry) : text_of(found, in_full, registry));
    return kFine;
  }
  std::vector<std::string_view> names;
  for (const OperationInfo& row : all_operations()) {
    if (!is_form(row.op)) names.push_back(row.text);
  }
  for (const AtomicInfo& row : all_atomics()) names.push_back(row.text);
  for (std::string_view id : registry.ids()) {
    names.push_back(id);
    names.push_back(id.substr(id.rfind('.') + 1));
  }
  const std::string_view near = nearest(wanted, names);
  const Diagnostic error = near.empty() ? diagnose<message::no_such_op>(shorten(wanted))
                                        : diagnose<message::misspelt_topic>(shorten(wanted), near);
  return report({{error}}, json, console);
}

int run_elementwise(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const Result<Loaded> known = read_known(invocation, console);
  if (!known.ok()) return report(known.diagnostics(), json, console);
  const Registry& registry = known->registry;
  std::vector<const Op*> chain;
  std::vector<Diagnostic> wrong;
  for (std::string_view id : invocation.operands) {
    chain.push_back(registry.find(id));
    if (chain.back() == nullptr) wrong.push_back(unknown_op(id, registry));
  }
  if (!wrong.empty()) return report(wrong, json, console);
  const Result<Program> program = elementwise(chain);
  if (!program.ok()) return report(program.diagnostics(), json, console);
  // Ops of the file that it calls come with it, so that what is printed runs by itself.
  const Result<Linked> linked = link(*program, registry);
  if (!linked.ok()) return report(linked.diagnostics(), json, console);
  Module module;
  for (const auto& op : linked->ops()) {
    if (find_library_entry(op->id) == nullptr) module.items.emplace_back(*op);
  }
  module.items.emplace_back(*program);
  return print_text(print(module), json, console);
}

}  // namespace vyre
