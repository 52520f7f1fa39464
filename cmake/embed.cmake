# Writes OUTPUT: a C++ header with the texts of FILES. A string literal has a limited length, so each
# line is a literal of its own; the compiler joins them.
set(out "#pragma once\n#include <string_view>\n#include <utility>\n\nnamespace vyre::embedded {\n")
string(APPEND out "inline constexpr std::pair<std::string_view, std::string_view> ${NAME}[] = {\n")
foreach(path IN LISTS FILES)
  get_filename_component(stem ${path} NAME_WE)
  file(READ ${path} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  string(APPEND out "{\"${stem}\",\n\"${text}\"},\n")
endforeach()
string(APPEND out "};\n}  // namespace vyre::embedded\n")
file(WRITE ${OUTPUT} "${out}")
