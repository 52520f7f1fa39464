// Programs written for the first edition of the language are the same programs today: digests.txt
// is what the last commit before the second edition (46f31c8) made of them, and no answer of ours.
#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "vyre/compile.h"
#include "vyre/wire/wire.h"

namespace vyre {
namespace {

TEST(FirstEdition, ProgramsHaveTheDigestsThatTheyHadThen) {
  std::size_t files = 0;
  const std::string list = read_file(source_root() + "/tests/first_edition/digests.txt");
  for (std::string_view row : split(list, '\n')) {
    if (row.empty()) continue;
    const std::vector<std::string_view> parts = split(row, ' ');
    ASSERT_EQ(parts.size(), 2u) << row;
    const std::string path(parts[0]);
    const Result<Loaded> loaded = load_module(Source{path, read_file(source_root() + "/" + path)});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0], false);
    EXPECT_EQ(digest(loaded->module), parts[1]) << path;
    ++files;
  }
  EXPECT_EQ(files, 21u);
}

}  // namespace
}  // namespace vyre
