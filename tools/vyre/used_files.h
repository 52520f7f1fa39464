// Finds the files that a program uses: in the folder of the file that says `use`, then in those of
// -I. Only what is in the folder of the first file, or in one of -I, is read.
#pragma once

#include <sys/types.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/vyre/command.h"

namespace vyre {

class UsedFiles {
 public:
  // `path` is that of the first file, `name` what diagnostics call it.
  UsedFiles(std::string_view path, std::string_view name, std::span<const std::string_view> folders,
            const Console& console);

  Result<Source> find(std::string_view path, std::string_view from);

 private:
  // A folder whose files are read.
  struct Root {
    std::string shown;
    std::string absolute;  // as it is named
    std::string real;      // without links
  };
  void add_root(std::string_view folder);
  Result<Source> read(const std::string& name, const std::string& real, std::string_view path);

  const Console& console_;
  std::string first_;  // its name
  std::vector<Root> roots_;
  std::map<std::pair<dev_t, ino_t>, std::string> names_;  // of the files so far
  std::map<std::string, std::string> found_;  // the same by all names they are found under
};

}  // namespace vyre
