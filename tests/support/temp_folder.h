// A folder for one test, which no other process has: builds run their tests side by side.

#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace vyre {

class TempFolder {
 public:
  TempFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr) << path_; }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_ = testing::TempDir() + "vyre.XXXXXX";
};

}  // namespace vyre
