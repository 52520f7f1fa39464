// `vyre explain`: the pages of tools/vyre/pages/, one file per family of codes. A page starts with
// a line `## CODE`; its title comes from diagnostics.def.
#include <algorithm>
#include <cctype>

#include "pages.h"
#include "tools/vyre/command.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

// The text under a code's heading, without blank lines around it.
std::string_view page_of(Code code) {
  const std::string heading = "## " + std::string(name(code)) + "\n";
  for (const auto& [family, text] : embedded::pages) {
    std::size_t at = text.find(heading);
    if (at == std::string_view::npos) continue;
    std::string_view page = text.substr(at + heading.size());
    page = page.substr(0, page.find("\n## "));
    const std::size_t first = page.find_first_not_of('\n');
    return page.substr(first, page.find_last_not_of('\n') + 1 - first);
  }
  return {};
}

std::string heading_of(Code code) {
  return std::string(name(code)) + ": " + std::string(title(code));
}

// For the terminal: program blocks are indented instead of fenced.
std::string plain(std::string_view page) {
  std::string out;
  bool in_code = false;
  for (std::string_view line : parts_of(page, '\n')) {
    if (line.starts_with("```")) {
      in_code = !in_code;
      if (line.ends_with(" wrong")) out += "wrong:\n";
      if (line.ends_with(" right")) out += "right:\n";
      continue;
    }
    out += (in_code && !line.empty() ? "    " : "") + std::string(line) + "\n";
  }
  return out;
}

JsonObject code_json(Code code, std::string_view page) {
  JsonObject each;
  each.add("code", name(code)).add("title", title(code));
  if (!page.empty()) each.add("page", page);
  return each;
}

std::string codes_json() {
  const auto without_page = [](Code code) { return code_json(code, ""); };
  return JsonObject().add("codes", json_list_of(all_codes(), without_page)).line();
}

std::string list_of_codes() {
  std::string out;
  for (Code code : all_codes())
    out += std::string(name(code)) + "  " + std::string(title(code)) + "\n";
  return out + "\nvyre explain CODE shows the page of one.\n";
}

std::string markdown() {
  std::string out(help_text("diagnostics"));
  for (Code code : all_codes()) {
    out += "\n## " + heading_of(code) + "\n\n" + std::string(page_of(code)) + "\n";
  }
  return out;
}

}  // namespace

Result<int> run_explain(const Invocation& invocation, const Console& console) {
  if (invocation.has("--markdown")) return print_text(markdown(), invocation.json(), console);
  if (invocation.operands.empty()) {
    console.print(invocation.json() ? codes_json() : list_of_codes());
    return kFine;
  }
  std::string wanted(invocation.operands[0]);
  for (char& c : wanted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const Code* code = find_code(wanted);
  if (code == nullptr) {
    return diagnose<message::unknown_code>(shorten(invocation.operands[0]));
  }
  console.print(invocation.json() ? code_json(*code, page_of(*code)).line()
                                  : heading_of(*code) + "\n\n" + plain(page_of(*code)));
  return kFine;
}

}  // namespace vyre
