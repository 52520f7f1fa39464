// Rules about the tree of sources: who may include whom, and that help texts agree with the tables
// whose facts they repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command.h"
#include "vyre/interp/race.h"
#include "vyre/passes/pass.h"

namespace vyre {
namespace {

// The folders of the table in docs/architecture.md, in its order: each may include those above it.
std::vector<std::string> folders_in_order() {
  std::vector<std::string> folders;
  const std::string page = read_file(source_root() + "/docs/architecture.md");
  for (std::size_t at = page.find("| folder |"); at != std::string::npos;) {
    at = page.find('\n', at) + 1;
    if (page[at] != '|') break;
    const std::size_t open = at + 2;
    if (page[open] != '`') continue;
    folders.push_back(page.substr(open + 1, page.find('`', open + 1) - open - 1));
  }
  return folders;
}

// "vyre/ir" for vyre/ir/walk.h and vyre/backends for everything below it, "vyre/compile.h" for
// compile.h and compile.cc.
std::string folder_of(const std::string& path) {
  const std::filesystem::path file(path);
  std::filesystem::path::iterator part = file.begin();
  const std::filesystem::path first = *part / *std::next(part);
  if (std::distance(file.begin(), file.end()) > 2) return first.string();
  return (*part / (file.stem().string() + ".h")).string();
}

std::vector<std::string> includes_of(const std::string& text) {
  constexpr std::string_view kBegin = "\n#include \"";
  std::vector<std::string> paths;
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    paths.push_back(text.substr(at, text.find('"', at) - at));
  }
  return paths;
}

TEST(Tree, IncludesPointOneWay) {
  const std::vector<std::string> order = folders_in_order();
  ASSERT_GE(order.size(), 12u);
  // Two headers are above all the rest of vyre/: only tools, which come last, know them.
  const auto rank_of = [&](const std::string& folder) {
    if (folder == "vyre/vyre.h" || folder == "vyre/vyre_c.h") return 2 * order.size() - 3;
    return 2 * static_cast<std::size_t>(std::ranges::find(order, folder) - order.begin());
  };
  const std::vector<std::string> side_by_side = {"vyre/text", "vyre/wire", "vyre/interp"};
  std::size_t files = 0;
  for (const char* root : {"vyre", "tools"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(source_root() + "/" + root)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      ++files;
      const std::string path =
          std::filesystem::relative(entry.path(), source_root()).generic_string();
      const std::string folder = folder_of(path);
      EXPECT_LT(rank_of(folder), 2 * order.size()) << folder << " is not in docs/architecture.md";
      for (const std::string& included : includes_of(read_file(entry.path().string()))) {
        if (!included.starts_with("vyre/") && !included.starts_with("tools/")) continue;
        const std::string other = folder_of(included);
        if (other == folder) continue;
        EXPECT_LT(rank_of(other), rank_of(folder)) << path << " includes " << included;
        EXPECT_FALSE(std::ranges::count(side_by_side, folder) == 1 &&
                     std::ranges::count(side_by_side, other) == 1)
            << path << " includes " << included;
      }
    }
  }
  EXPECT_GT(files, 100u);
}

// A backend knows what all have in common, never another one; only the table of all knows each.
TEST(Tree, BackendsDoNotKnowEachOther) {
  const std::string root = source_root() + "/vyre/backends";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string own =
        std::filesystem::relative(entry.path().parent_path(), source_root()).generic_string();
    for (const std::string& included : includes_of(read_file(entry.path().string()))) {
      const std::string other = std::filesystem::path(included).parent_path().generic_string();
      if (!other.starts_with("vyre/backends/")) continue;
      EXPECT_TRUE(other == own || entry.path().filename() == "backend.cc")
          << entry.path() << " includes " << included;
    }
  }
}

// They state a target; compile.cc runs the passes for it.
TEST(Tree, BackendsCallNoPasses) {
  for (const char* backend : {"cpu", "ptx", "spirv", "interp"}) {
    const std::string root = source_root() + "/vyre/backends/" + backend;
    for (const auto& entry : std::filesystem::directory_iterator(root)) {
      for (const std::string& included : includes_of(read_file(entry.path().string()))) {
        for (const char* stage : {"pass.h", "passes.h", "inline.h", "draft.h"}) {
          EXPECT_NE(included, std::string("vyre/passes/") + stage) << entry.path();
        }
      }
    }
  }
}

// Two structs of one name would be one for the linker, which merges the functions of both.
TEST(Tree, EveryStructHasANameOfItsOwn) {
  std::map<std::string, std::string> places;
  for (const char* root : {"/vyre", "/tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_root() + root)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      bool is_local = false;  // in a namespace without a name
      const std::string text = read_file(entry.path().string());
      for (std::string_view line : split(text, '\n')) {
        if (line.starts_with("namespace ") && line != "namespace vyre {") is_local = true;
        if (line.starts_with("}  // namespace")) is_local = false;
        const bool is_struct = line.starts_with("struct ") || line.starts_with("class ");
        if (!is_struct || is_local || !line.ends_with("{")) continue;
        line.remove_prefix(line.find(' ') + 1);
        if (line.starts_with("[[")) line.remove_prefix(line.find("]] ") + 3);
        if (line.substr(0, line.find(' ')).find("::") != line.npos) continue;  // of another one
        const std::string name(line.substr(0, line.find_first_of(" :{<")));
        if (line[name.size()] == '<') continue;  // a special case of a template
        const auto [known, fresh] = places.emplace(name, entry.path().string());
        EXPECT_TRUE(fresh) << name << " is in " << known->second << " and " << entry.path();
      }
    }
  }
  EXPECT_GT(places.size(), 100u);
}

TEST(Tree, TheHelpOfOptListsThePasses) {
  const std::string help = run_vyre({{"opt", "--help"}}).out;
  for (const Pass& pass : all_passes()) {
    std::string name(pass.name);
    name.resize(std::max<std::size_t>(name.size(), 12), ' ');
    EXPECT_NE(help.find("\n  " + name + std::string(pass.summary) + "\n"), std::string::npos)
        << pass.name;
  }
}

TEST(Tree, SchedulesAreNamedEverywhere) {
  const std::string help = run_vyre({{"run", "--help"}}).out;
  const std::string wrong = run_vyre({{"run", "none.vyre", "--schedule", "none"}}).err;
  const std::string header = read_file(source_root() + "/vyre/vyre_c.h");
  for (const Schedule& schedule : race_schedules()) {
    const std::string name = to_text(schedule).substr(0, to_text(schedule).find(':'));
    EXPECT_NE(help.find(name), std::string::npos) << name;
    EXPECT_NE(wrong.find(name), std::string::npos) << name << "\n" << wrong;
    EXPECT_NE(header.find('"' + name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace vyre
