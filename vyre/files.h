// The files that a program consists of: the one that is loaded, those that it uses, and so on.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "vyre/base/result.h"
#include "vyre/text/parse.h"

namespace vyre {

inline constexpr std::size_t kMaxFiles = 4096;

// Finds a file that another one uses: `path` is what it says, `from` is its name. The name of what
// this returns is for diagnostics, and files of one name are one file: the second time its text is
// not looked at.
using FindFile = std::function<Result<Source>(std::string_view path, std::string_view from)>;

// Among these. A path is relative to the name of the file that says it, as in a file system.
FindFile find_among(std::vector<Source> files);

struct Gathered {
  Source source;  // of all of them
  FileUses uses;
};
// Each file once, also where files use each other.
Result<Gathered> gather(Source first, const FindFile& find);

}  // namespace vyre
