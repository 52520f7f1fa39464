// Files that this user wrote and nobody else can have changed: compiled code and proofs, which are
// believed when they are read back. The folder has to be a real one, of the user, that others
// cannot write to, and so has each file in it. A file's name and its first 16 bytes are keyed
// hashes; the key is in the folder too. Files with other names are left alone.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/siphash.h"

namespace vyre {

// $VYRE_CACHE/KIND, $XDG_CACHE_HOME/vyre/KIND or ~/.cache/vyre/KIND; empty when none is set.
std::string cache_folder(std::string_view kind);

class PrivateFolder {
 public:
  enum class Missing { Stays, IsMade };
  PrivateFolder(std::string path, Missing missing);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  // Why it is not used, and what to do about it, in two sentences. Empty when it is used, and when
  // there is none.
  const std::string& refusal() const { return refusal_; }

  // Nothing where there is no such entry, it is longer than `most`, or it is not to be believed.
  std::optional<std::string> read(std::string_view key, std::uint64_t most) const;
  // Does nothing where it cannot. Written beside and renamed, so that processes can share a folder.
  void write(std::string_view key, std::string_view contents) const;

  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    timespec used{};
  };
  // The entries, and what a process that was killed left of some.
  std::vector<File> files() const;
  bool remove(const std::string& name) const;
  // All of them, and the key; how many there were.
  std::uint64_t clear();

 private:
  void open_folder(Missing missing);
  void find_secret(Missing missing);
  bool read_secret();

  std::string path_;
  std::string refusal_;
  int folder_ = -1;
  std::optional<SipBytes> secret_;
};

}  // namespace vyre
