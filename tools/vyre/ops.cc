// `vyre ops` and `vyre elementwise`: the operations and the standard library, from their tables.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "tools/vyre/command.h"
#include "tools/vyre/data.h"
#include "vyre/base/text.h"
#include "vyre/library/library.h"
#include "vyre/passes/inline.h"
#include "vyre/prove/prove.h"
#include "vyre/text/lexer.h"
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
    out +=
        (i > 0 ? ", " : "") + op.body.locals[i].name + ": " + argument_text(op.signature.inputs[i]);
  }
  return out + ") -> " + argument_text(op.signature.output);
}

// How it is written: `atomic_add(buffer[i], value)`.
std::string applied(const AtomicInfo& row) {
  constexpr std::string_view kOperands[] = {"", ", value", ", expected, value"};
  return std::string(row.text) + "(buffer[i]" + std::string(kOperands[row.operands]) + ")";
}
std::string applied(const CollectiveInfo& row) {
  return std::string(row.text) + (row.chooses() ? "(value, invocation)" : "(value)");
}

// What else programs are made of: the other expressions, and statements that begin with a word.
struct Form {
  std::string name;
  std::string text;
  std::string_view meaning;
};

const std::vector<Form>& all_forms() {
  static const std::vector<Form> all = [] {
    std::vector<Form> forms;
    constexpr std::pair<Operation, std::string_view> kExpressions[] = {
        {Operation::Select, "select(c, a, b)"},
        {Operation::Length, "len(buffer)"},
        {Operation::Count, "len(array)"},
        {Operation::InvocationId, "invocation_id.x"},
        {Operation::WorkgroupId, "workgroup_id.x"},
        {Operation::LocalId, "local_id.x"},
        {Operation::NumWorkgroups, "num_workgroups.x"},
        {Operation::Vec2, "vec2u32(a, b)"},
        {Operation::Vec4, "vec4u32(a, b, c, d)"}};
    for (const auto& [op, text] : kExpressions) {
      const std::string_view name = text.substr(0, text.find_first_of("(."));
      forms.push_back({std::string(name), std::string(text), info(op).meaning});
    }
    constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
#define STATEMENT(name, tag, meaning) {#name, meaning},
#include "vyre/ir/ops.def"
    };
    constexpr std::pair<std::string_view, std::string_view> kStatements[] = {
        {"Let", "let x = a"},   {"If", "if c { … } else { … }"}, {"For", "for k in a..b { … }"},
        {"Break", "break"},     {"Continue", "continue"},        {"Return", "return"},
        {"Barrier", "barrier"},
    };
    for (const auto& [name, text] : kStatements) {
      const auto row =
          std::ranges::find(kMeanings, name, [](const auto& each) { return each.first; });
      forms.push_back({std::string(split_at(text, ' ').name), std::string(text), row->second});
    }
    // What is a word of the text only.
    forms.push_back({"while", "while c { … }", "repeats as long as c is not zero"});
    forms.push_back({"step", "for k in a..b step 4 { … }", "k counts up by this number"});
    forms.push_back({"reversed", "for k in reversed a..b { … }", "k counts down, from b - 1 to a"});
    forms.push_back({"const", "const N = 64", "a name for a number, or for a table of them"});
    forms.push_back({"use", "use \"file.vyre\"", "the ops and constants of another file"});
    return forms;
  }();
  return all;
}

std::string laws_of(const Op& op) { return join(op.laws, " ", print_law); }

std::string_view family_of(std::string_view id) { return id.substr(0, id.rfind('.')); }

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
  const auto list = [&](std::string_view title, const auto& rows, auto text) {
    out += "\n" + std::string(title) + ":\n";
    for (const auto& row : rows)
      out += "  " + padded(text(row), 26) + std::string(row.meaning) + "\n";
  };
  const auto word = [](const auto& row) { return row.text; };
  list("atomics (statements; the result is the value before)", all_atomics(), word);
  list("collectives (statements, for all invocations of a workgroup)", all_collectives(), word);
  list("forms", all_forms(), word);
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
  const bool gives = row.op != AtomicOp::Load && row.op != AtomicOp::Store;
  return applied(row) + "\n  " + std::string(row.meaning) +
         (gives ? "; gives the value before" : "") +
         "\n  elements: u32 i32 of a read_write buffer\n";
}

std::string describe(const CollectiveInfo& row) {
  return applied(row) + "\n  " + std::string(row.meaning) +
         "\n  values: u32 i32 u64; all invocations of a workgroup take part\n";
}

std::string describe(const Form& row) {
  return row.text + "\n  " + std::string(row.meaning) + "\n";
}

// As the author wrote it, shorthands included; of a wire file there is only what they stand for.
std::string written(const Op& op, const Loaded& known) {
  if (const LibraryEntry* entry = find_library_entry(op.id)) return entry->text() + "\n";
  for (std::size_t i = 0; i < known.positions.size(); ++i) {
    const Op* own = std::get_if<Op>(&known.module.items[i]);
    if (own == nullptr || own->id != op.id) continue;
    const std::uint32_t begin = known.positions[i].heads[0];
    return known.source.text.substr(begin, known.positions[i].end + 1 - begin) + "\n";
  }
  return print(op);
}

std::string describe(const Op& op, const Loaded& known) {
  std::string out = written(op, known);
  if (const LibraryEntry* entry = find_library_entry(op.id)) {
    std::string_view before = "\nexample: ";
    for (std::string_view example : entry->examples()) {
      (out += std::exchange(before, "         ")).append(example) += '\n';
    }
  }
  if (op.body.callees.empty() || is_array(op.signature.output)) return out;
  const Result<FlatOp> flat = inline_calls(op, known.registry);
  if (!flat.ok() || !flat->memory.empty()) return out;
  // Of loops that are shorthands, too, only what they stand for would be left.
  const auto is_loop = [](const Stmt& stmt) { return std::holds_alternative<For>(stmt); };
  if (std::ranges::any_of(flat->op.body.stmts, is_loop)) return out;
  return out + "\nwithout calls:\n" + print(Module{{flat->op}});
}

// --- Searching ----------------------------------------------------------------------------------

// What can be looked up; one of the pointers is set.
struct Topic {
  std::string_view name;
  std::string_view meaning;
  const OperationInfo* operation = nullptr;
  const AtomicInfo* atomic = nullptr;
  const CollectiveInfo* collective = nullptr;
  const Form* form = nullptr;
  const Op* op = nullptr;
};
using Topics = std::vector<Topic>;

Topics all_topics(const Registry& registry) {
  Topics all;
  for (const OperationInfo& row : all_operations()) {
    if (!is_form(row.op))
      all.push_back({.name = row.text, .meaning = row.meaning, .operation = &row});
  }
  for (const AtomicInfo& row : all_atomics()) {
    all.push_back({.name = row.text, .meaning = row.meaning, .atomic = &row});
  }
  for (const CollectiveInfo& row : all_collectives()) {
    all.push_back({.name = row.text, .meaning = row.meaning, .collective = &row});
  }
  for (const Form& row : all_forms()) {
    all.push_back({.name = row.name, .meaning = row.meaning, .form = &row});
  }
  for (const Op* op : registry.all()) {
    all.push_back({.name = op->id, .meaning = op->description, .op = op});
  }
  return all;
}

bool is_one_op(const Topics& found) {
  return std::ranges::count_if(found, [](const Topic& each) { return each.op != nullptr; }) == 1;
}

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
  for (std::string_view word : parts_of(text, ' ')) {
    if (!word.empty()) words.push_back(squeezed(word));
  }
  return words;
}

// How well a name and what is said about it fit the words: 0 the name itself, 1 its beginning, 2
// words in the name, 3 words in the description; nothing where a word is missing.
std::optional<int> rank(std::string_view name, std::string_view description,
                        const std::vector<std::string>& words) {
  const std::string_view part = name.substr(name.rfind('.') + 1);
  const std::string last = squeezed(part);
  const std::string whole = squeezed(name);
  const std::string said = squeezed(description);
  std::string wanted;
  for (const std::string& word : words) wanted += word;
  // `abs` is the name of primitive.math.abs_i32, too.
  const bool is_typed = find_type(part.substr(part.rfind('_') + 1)).has_value();
  if (last == wanted || (is_typed && squeezed(part.substr(0, part.rfind('_'))) == wanted)) return 0;
  if (last.starts_with(wanted)) return 1;
  const auto in_name = [&](const std::string& word) { return whole.find(word) != whole.npos; };
  const auto anywhere = [&](const std::string& word) {
    return in_name(word) || said.find(word) != said.npos;
  };
  if (std::ranges::all_of(words, in_name)) return 2;
  return std::ranges::all_of(words, anywhere) ? std::optional(3) : std::nullopt;
}

// What fits the words, the best first: of equal ones, what is built in before ops. An operator is
// found by what it is called.
Topics search(std::string_view wanted, const Topics& all) {
  const std::vector<std::string> words = words_of(wanted);
  std::map<int, Topics> ranked;
  for (const Topic& each : all) {
    const bool is_operator = each.operation != nullptr && each.operation->precedence != 0;
    const std::string_view name = is_operator ? each.operation->name : each.name;
    const std::optional<int> fit = rank(name, each.meaning, words);
    if (fit) ranked[*fit].push_back(each);
  }
  // Who knows the name does not search descriptions.
  if (ranked.contains(0)) ranked.erase(3);
  Topics found;
  for (const auto& [fit, some] : ranked) found.insert(found.end(), some.begin(), some.end());
  return found;
}

// One operation, op, form or family by its name.
Topics named(std::string_view wanted, const Topics& all) {
  Topics found;
  const std::string family = std::string(wanted) + (wanted.ends_with('.') ? "" : ".");
  Topics members;
  for (const Topic& each : all) {
    if (each.name == wanted || (each.operation != nullptr && each.operation->name == wanted)) {
      found.push_back(each);
    }
    if (each.op != nullptr && each.name.starts_with(family)) members.push_back(each);
  }
  return found.empty() ? members : found;
}

std::string text_of(const Topics& found, const Loaded& known) {
  std::string out;
  const bool in_full = is_one_op(found);
  for (const auto& [name, meaning, operation, atomic, collective, form, op] : found) {
    if (operation != nullptr) out += describe(*operation);
    if (atomic != nullptr) out += describe(*atomic);
    if (collective != nullptr) out += describe(*collective);
    if (form != nullptr) out += describe(*form);
    if (op == nullptr) continue;
    out += in_full ? describe(*op, known)
                   : op->id + signature_of(*op) + "\n    " + op->description + "\n";
  }
  const bool has_ops = std::ranges::any_of(found, &Topic::op);
  return in_full || !has_ops ? out : out + "\nvyre ops ID shows one of them.\n";
}

std::string json_of(const Topics& found, const Loaded& known) {
  JsonList operations, atomics, collectives, forms, ops;
  const bool in_full = is_one_op(found);
  const auto plain = [](const auto& row) {
    return JsonObject().add("text", row.text).add("meaning", row.meaning);
  };
  for (const auto& [name, meaning, operation, atomic, collective, form, op] : found) {
    JsonObject each;
    if (operation != nullptr) {
      each.add("name", operation->name).add("text", print_applied(*operation));
      each.add("types", types_of(*operation)).add("signature", signature_of(*operation));
      operations.add(each.add("laws", operation->laws).add("meaning", meaning));
    } else if (atomic != nullptr) {
      atomics.add(plain(*atomic));
    } else if (collective != nullptr) {
      collectives.add(plain(*collective));
    } else if (form != nullptr) {
      forms.add(plain(*form));
    } else {
      const LibraryEntry* entry = find_library_entry(op->id);
      each.add("id", name).add("signature", signature_of(*op)).add("description", meaning);
      each.add("laws", json_list_of(op->laws, print_law));
      each.add("examples", entry == nullptr ? JsonList() : json_list_of(entry->examples()));
      if (in_full) each.add("text", describe(*op, known));
      ops.add(each);
    }
  }
  JsonObject out;
  out.add("operations", operations).add("atomics", atomics).add("collectives", collectives);
  return out.add("forms", forms).add("ops", ops).line();
}

// A row of a table in Markdown.
std::string row_of(std::initializer_list<std::string_view> cells) {
  std::string out = "|";
  for (std::string_view cell : cells) {
    out += " " + replaced(cell, {{"|", "\\|"}}) + " |";
  }
  return out + "\n";
}

std::string code(std::string_view text) {
  return text.empty() ? "" : "`" + std::string(text) + "`";
}

std::string markdown() {
  std::array<std::string, 3> operations;  // by the number of operands; those with none are forms
  std::string atomics, collectives, laws, library;
  for (const OperationInfo& row : all_operations()) {
    operations[is_form(row.op) ? 0 : static_cast<std::size_t>(row.arity)] +=
        is_form(row.op) ? row_of({row.name, row.meaning})
                        : row_of({row.name, code(print_applied(row)), types_of(row),
                                  signature_of(row), row.meaning, row.laws});
  }
  for (const AtomicInfo& row : all_atomics()) atomics += row_of({code(row.text), row.meaning});
  for (const CollectiveInfo& row : all_collectives()) {
    collectives += row_of({code(applied(row)), row.meaning});
  }
  for (const LawInfo& row : all_laws()) laws += row_of({code(row.text), row.meaning});
  const Registry registry;
  const Families all = families(registry);
  std::string links = plural(registry.ids().size(), "op") + ":";
  for (const auto& [family, ids] : all) {
    std::string anchor(family);
    std::erase(anchor, '.');
    links += " [" + std::string(family) + "](#" + anchor + ") (" + std::to_string(ids.size()) +
             ")" + (family == all.rbegin()->first ? ".\n" : ",");
    library += "\n### " + std::string(family) +
               "\n\n| op | meaning | laws | example |\n|---|---|---|---|\n";
    for (std::string_view id : ids) {
      const Op& op = *registry.find(id);
      const std::vector<std::string_view> examples = find_library_entry(id)->examples();
      const std::size_t name = family.size() + 1;
      library += row_of({code(std::string(id.substr(name)) + signature_of(op)), op.description,
                         laws_of(op), code(examples.empty() ? "" : examples[0].substr(name))});
    }
  }
  return replaced(help_text("operations"), {{"@UNARY@", operations[1]},
                                            {"@BINARY@", operations[2]},
                                            {"@ATOMICS@", atomics},
                                            {"@COLLECTIVES@", collectives},
                                            {"@FORMS@", operations[0]},
                                            {"@LAWS@", laws},
                                            {"@FAMILIES@", links},
                                            {"@LIBRARY@", library}});
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

Result<int> report_proofs(const std::vector<const Op*>& ops, const Loaded& known,
                          const Registry& registry, bool json, const Console& console) {
  Proving proving;
  for (const Op* op : ops) {
    if (!prove_laws(*op, known, registry, proving)) return proving.wrong;
    if (json) continue;
    console.print(proving.text);
    std::fflush(console.out);
    proving.text.clear();
  }
  if (!proving.wrong.empty()) return proving.wrong;
  if (json) console.print(JsonObject().add("laws", proving.json).line());
  return kFine;
}

// The library and the ops of --file.
Result<Loaded> read_known(const Invocation& invocation, const Console& console) {
  if (!invocation.has("--file")) return Loaded{};
  return load_file(invocation.value("--file"), invocation, console);
}

Diagnostic unknown_op(std::string_view id, const Registry& registry) {
  const std::string_view near = nearest(id, registry.ids());
  if (near.empty()) return diagnose<message::unknown_op_id>(shown(id));
  return diagnose<message::misspelt_topic>(shorten(id), near);
}

}  // namespace

Result<int> run_ops(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  if (invocation.has("--markdown")) return print_text(markdown(), json, console);
  const Result<Loaded> known = read_known(invocation, console);
  if (!known.ok()) return known.diagnostics();
  const Registry& registry = known->registry;
  const std::string wanted = join(invocation.operands, " ");
  if (invocation.has("--prove")) {
    std::vector<const Op*> ops;
    if (wanted.empty() && !invocation.has("--file")) {
      return diagnose<message::missing_operand>("ops --prove", "the id of an op",
                                                invocation.verb.usage);
    }
    if (wanted.empty()) {
      for (const Item& item : std::span(known->module.items).first(known->own_items)) {
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
    return unknown_op(wanted, registry);
  }
  const Topics all = all_topics(registry);
  if (wanted.empty()) {
    console.print(json ? json_of(all, *known) : listing(registry));
    return kFine;
  }
  Topics found = named(wanted, all);
  if (found.empty()) found = search(wanted, all);
  if (!found.empty()) {
    console.print(json ? json_of(found, *known) : text_of(found, *known));
    return kFine;
  }
  if (const std::string_view advice = advice_for(wanted); !advice.empty()) {
    return diagnose<message::foreign_topic>(shorten(wanted), advice);
  }
  std::vector<std::string_view> names;
  for (const Topic& each : all) {
    names.push_back(each.name);
    if (each.op != nullptr) names.push_back(each.name.substr(each.name.rfind('.') + 1));
  }
  const std::string_view near = nearest(wanted, names);
  if (near.empty()) return diagnose<message::no_such_op>(shorten(wanted));
  return diagnose<message::misspelt_topic>(shorten(wanted), near);
}

Result<int> run_elementwise(const Invocation& invocation, const Console& console) {
  const bool json = invocation.json();
  const Result<Loaded> known = read_known(invocation, console);
  if (!known.ok()) return known.diagnostics();
  const Registry& registry = known->registry;
  std::vector<const Op*> chain;
  std::vector<Diagnostic> wrong;
  for (std::string_view id : invocation.operands) {
    chain.push_back(registry.find(id));
    if (chain.back() == nullptr) wrong.push_back(unknown_op(id, registry));
  }
  if (!wrong.empty()) return wrong;
  const Result<Program> program = elementwise(chain);
  if (!program.ok()) return program.diagnostics();
  // Ops of the file that it calls come with it, so that what is printed runs by itself.
  const Result<Linked> linked = link(*program, registry);
  if (!linked.ok()) return linked.diagnostics();
  Module module;
  for (const auto& op : linked->ops()) {
    if (find_library_entry(op->id) == nullptr) module.items.emplace_back(*op);
  }
  module.items.emplace_back(*program);
  return print_text(print(module), json, console);
}

}  // namespace vyre
