// The cache of compiled code: entries come back as they were written, and nothing else does. Every
// test puts something else in the place of an entry, the key or the folder, and then the right
// thing again, which has to be believed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/build.h"
#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tools/vyre/command.h"
#include "vyre/backends/cache.h"
#include "vyre/base/siphash.h"

namespace vyre {
namespace {

namespace fs = std::filesystem;

// Published with the reference implementation: the key and the texts count up from 0.
TEST(SipHash, GivesThePublishedHashes) {
  SipBytes key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<unsigned char>(i);
  const auto hash = [&](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>(i);
    std::string digits;
    for (unsigned char byte : siphash(key, text)) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", byte);
      digits += two;
    }
    return digits;
  };
  EXPECT_EQ(hash(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hash(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hash(7), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(hash(8), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(hash(15), "5493e99933b0a8117e08ec0f97cfc3d9");
  EXPECT_EQ(hash(16), "6ee2a4ca67b054bbfd3315bf85230577");
  EXPECT_EQ(hash(63), "5150d1772f50834a503e069a973fbd7c");
}

class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* before = std::getenv("VYRE_CACHE");
    if (before != nullptr) before_ = before;
    setenv("VYRE_CACHE", root_.c_str(), 1);
    folder_ = root_ + "/code";
    alarm(300);  // nothing here may wait for ever
  }
  void TearDown() override {
    alarm(0);
    before_ ? setenv("VYRE_CACHE", before_->c_str(), 1) : unsetenv("VYRE_CACHE");
  }

  // The paths of all entries.
  std::vector<std::string> entries() const {
    std::vector<std::string> paths;
    for (const auto& each : fs::directory_iterator(folder_)) {
      if (each.path().filename().string().size() == 32) paths.push_back(each.path());
    }
    return paths;
  }
  std::string key_file() const { return folder_ + "/vyre-key"; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  TempFolder temp_;
  std::string root_ = temp_.path();
  std::string folder_;
  std::optional<std::string> before_;
};

void write_file_at(const std::string& path, std::string_view bytes, mode_t mode = 0600) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(CacheTest, KeepsEntriesForTheUserAlone) {
  EXPECT_FALSE(read_cache("a"));
  EXPECT_FALSE(fs::exists(folder_)) << "made for reading";
  const mode_t before = umask(0);
  write_cache("a", "contents");
  umask(before);
  EXPECT_EQ(read_cache("a"), "contents");
  EXPECT_FALSE(read_cache("b"));
  EXPECT_EQ(cache_stats().files, 1u);
  EXPECT_EQ(cache_stats().bytes, 16 + 8u);
  EXPECT_EQ(cache_stats().refusal, "");
  EXPECT_EQ(mode_of(folder_), 0700u);
  EXPECT_EQ(mode_of(key_file()), 0600u);
  EXPECT_EQ(mode_of(entries().at(0)), 0600u);
  write_cache("a", "other");
  EXPECT_EQ(read_cache("a"), "other");
  // What was read goes last.
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(entries().at(0), old);
  EXPECT_TRUE(read_cache("a"));
  EXPECT_GT(fs::last_write_time(entries().at(0)), old);
  write_cache("nothing", "");
  EXPECT_EQ(read_cache("nothing"), "");
  EXPECT_EQ(clear_cache(), 2u);
  EXPECT_FALSE(read_cache("a"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(CacheTest, ThreadsThatWriteOneEntryDoNotGetInEachOthersWay) {
  const std::string contents(2'000'000, 'x');
  write_cache("a", contents);
  const auto write = [&] {
    for (int i = 0; i < 100; ++i) write_cache("a", contents);
  };
  std::thread one(write);
  std::thread other(write);
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(read_cache("a") == contents);
  one.join();
  other.join();
  EXPECT_EQ(files(), 2u);
}

TEST_F(CacheTest, NoByteOfAnEntryCanChange) {
  write_cache("a", "contents");
  const std::string path = entries().at(0);
  const std::string whole = read_file(path);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file_at(path, damaged);
    EXPECT_FALSE(read_cache("a")) << "byte " << i;
    write_file_at(path, whole.substr(0, i));
    EXPECT_FALSE(read_cache("a")) << i << " bytes";
  }
  write_file_at(path, whole + "x");
  EXPECT_FALSE(read_cache("a"));
  write_file_at(path, whole);
  EXPECT_EQ(read_cache("a"), "contents");
  fs::resize_file(path, std::uint64_t{1} << 40);
  EXPECT_FALSE(read_cache("a")) << "far too long";
}

TEST_F(CacheTest, AnEntryIsNotTakenForAnother) {
  write_cache("a", "of a");
  const std::string path = entries().at(0);
  const std::string of_a = read_file(path);
  write_cache("b", "of b");
  const std::string other = entries().at(entries().at(0) == path ? 1 : 0);
  write_file_at(other, of_a);
  EXPECT_FALSE(read_cache("b"));
  EXPECT_EQ(read_cache("a"), "of a");
}

TEST_F(CacheTest, AnEntryWithAnotherKeyIsNotBelieved) {
  write_cache("a", "contents");
  const std::string path = entries().at(0);
  const std::string whole = read_file(path);
  const std::string key = read_file(key_file());
  write_file_at(key_file(), "0123456789abcdef");
  EXPECT_FALSE(read_cache("a"));
  fs::remove(path);
  write_cache("a", "contents");
  const std::string now = entries().at(0);
  EXPECT_NE(now, path);
  write_file_at(now, whole);  // as if it had always had this name
  EXPECT_FALSE(read_cache("a"));
  write_file_at(path, whole);
  write_file_at(key_file(), key);
  EXPECT_EQ(read_cache("a"), "contents");
}

// What is no plain file of the user.
struct Impostor {
  const char* name;
  std::function<void(const std::string& path, const std::string& right)> put;
};
std::vector<Impostor> impostors() {
  return {
      {"a FIFO", [](const std::string& path, const std::string&) { mkfifo(path.c_str(), 0600); }},
      {"a link",
       [](const std::string& path, const std::string& right) { fs::create_symlink(right, path); }},
      {"a folder", [](const std::string& path, const std::string&) { fs::create_directory(path); }},
      {"a file that the group can write",
       [](const std::string& path, const std::string& right) {
         write_file_at(path, read_file(right), 0620);
       }},
      {"a file that all can write",
       [](const std::string& path, const std::string& right) {
         write_file_at(path, read_file(right), 0602);
       }},
  };
}
Impostor foreign_file() {
  return {"a file of somebody else", [](const std::string& path, const std::string& right) {
            write_file_at(path, read_file(right));
            ASSERT_EQ(chown(path.c_str(), 12345, getegid()), 0);
          }};
}

TEST_F(CacheTest, OnlyPlainFilesOfTheUserAreRead) {
  write_cache("a", "contents");
  const std::string path = entries().at(0);
  const std::string right = root_ + "/right";
  fs::rename(path, right);
  std::vector<Impostor> all = impostors();
  all.push_back({"a file with two names", [](const std::string& at, const std::string& from) {
                   fs::create_hard_link(from, at);
                 }});
  for (const Impostor& impostor : all) {
    impostor.put(path, right);
    EXPECT_FALSE(read_cache("a")) << impostor.name;
    fs::remove(path);
    fs::copy_file(right, path);
    EXPECT_EQ(read_cache("a"), "contents") << impostor.name;
    fs::remove(path);
  }
}

TEST_F(CacheTest, FilesOfOthersAreNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write_cache("a", "contents");
  const std::string path = entries().at(0);
  const std::string right = root_ + "/right";
  fs::rename(path, right);
  foreign_file().put(path, right);
  EXPECT_FALSE(read_cache("a"));
  EXPECT_EQ(cache_stats().files, 0u);
  EXPECT_EQ(clear_cache(), 0u);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(CacheTest, WithoutAKeyOfTheUserAloneThereIsNone) {
  write_cache("a", "contents");
  const std::string right = root_ + "/right";
  fs::rename(key_file(), right);
  std::vector<Impostor> all = impostors();
  if (geteuid() == 0) all.push_back(foreign_file());
  for (const Impostor& other :
       {Impostor{"a key that all can read",
                 [](const std::string& path, const std::string& from) {
                   write_file_at(path, read_file(from), 0604);
                 }},
        Impostor{"a short key",
                 [](const std::string& path, const std::string& from) {
                   write_file_at(path, read_file(from).substr(1));
                 }},
        Impostor{"a long key", [](const std::string& path, const std::string& from) {
                   write_file_at(path, read_file(from) + "x");
                 }}}) {
    all.push_back(other);
  }
  for (const Impostor& impostor : all) {
    impostor.put(key_file(), right);
    const std::size_t before = files();
    EXPECT_FALSE(read_cache("a")) << impostor.name;
    write_cache("b", "contents");
    EXPECT_EQ(files(), before) << impostor.name;
    EXPECT_NE(cache_stats().refusal.find("vyre-key"), std::string::npos) << impostor.name;
    fs::remove(key_file());
    fs::copy_file(right, key_file());
    EXPECT_EQ(read_cache("a"), "contents") << impostor.name;
    fs::remove(key_file());
  }
  // To clear the cache helps where it is ours.
  write_file_at(key_file(), "short");
  const std::vector<std::string_view> clear = {"cache", "--clear"};
  EXPECT_EQ(run_vyre(clear).out, "Deleted 1 program from " + folder_ + "\n");
  write_cache("b", "contents");
  EXPECT_EQ(read_cache("b"), "contents");
}

// The folder is refused: nothing is read, written or deleted, and `vyre cache` tells why.
void expect_refused(const std::string& folder, const std::string& why, std::size_t files) {
  EXPECT_FALSE(read_cache("a")) << why;
  write_cache("b", "contents");
  EXPECT_EQ(clear_cache(), 0u);
  const auto count = std::distance(fs::directory_iterator(fs::canonical(folder)), {});
  EXPECT_EQ(static_cast<std::size_t>(count), files) << why;
  const std::string line = "The cache in " + folder + " is not used: " + why;
  const std::vector<std::string_view> tell = {"cache"};
  EXPECT_TRUE(run_vyre(tell).out.starts_with(line)) << run_vyre(tell).out;
  EXPECT_EQ(run_vyre(tell).status, kFine);
  const std::vector<std::string_view> clear = {"cache", "--clear"};
  EXPECT_TRUE(run_vyre(clear).out.starts_with(line)) << run_vyre(clear).out;
  EXPECT_EQ(run_vyre(clear).status, kEnvironment);
  const std::vector<std::string_view> json = {"cache", "--json"};
  EXPECT_NE(run_vyre(json).out.find("\"unused\":\"" + why), std::string::npos);
}

TEST_F(CacheTest, AFolderThatOthersCanWriteToIsNotUsed) {
  write_cache("a", "contents");
  for (mode_t mode : {0720u, 0702u, 01777u}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    expect_refused(folder_, "others can write to it.", 2);
    EXPECT_EQ(mode_of(folder_), mode);
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(read_cache("a"), "contents");
}

TEST_F(CacheTest, ALinkToAFolderIsNotUsed) {
  write_cache("a", "contents");
  fs::rename(folder_, root_ + "/real");
  fs::create_symlink(root_ + "/real", folder_);
  expect_refused(folder_, "it is a link, or not a folder.", 2);
  fs::remove(folder_);
  fs::rename(root_ + "/real", folder_);
  EXPECT_EQ(read_cache("a"), "contents");
}

TEST_F(CacheTest, AFolderOfSomebodyElseIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  write_cache("a", "contents");
  ASSERT_EQ(chown(folder_.c_str(), 12345, getegid()), 0);
  expect_refused(folder_, "it belongs to another user.", 2);
  ASSERT_EQ(chown(folder_.c_str(), geteuid(), getegid()), 0);
  EXPECT_EQ(read_cache("a"), "contents");
}

// As under `sudo` with the home of somebody else. A folder that VYRE_CACHE names is made anywhere.
TEST_F(CacheTest, NoFolderIsMadeInTheHomeOfSomebodyElse) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  ASSERT_EQ(chown(root_.c_str(), 12345, getegid()), 0);
  const char* home = std::getenv("XDG_CACHE_HOME");
  const std::optional<std::string> before =
      home == nullptr ? std::nullopt : std::optional<std::string>(home);
  setenv("XDG_CACHE_HOME", root_.c_str(), 1);
  unsetenv("VYRE_CACHE");
  write_cache("a", "contents");
  EXPECT_FALSE(fs::exists(root_ + "/vyre"));
  before ? setenv("XDG_CACHE_HOME", before->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
  setenv("VYRE_CACHE", root_.c_str(), 1);
  write_cache("a", "contents");
  EXPECT_EQ(read_cache("a"), "contents");
}

TEST_F(CacheTest, AFolderThatCannotBeMadeIsNotUsed) {
  setenv("VYRE_CACHE", "/proc/nothing", 1);
  const std::vector<std::string_view> tell = {"cache"};
  const std::string said = run_vyre(tell).out;
  EXPECT_TRUE(said.starts_with("The cache in /proc/nothing/")) << said;
  EXPECT_NE(said.find("is not used: it cannot be created: "), std::string::npos) << said;
}

TEST_F(CacheTest, AFileInPlaceOfTheFolderIsLeftAlone) {
  write_file_at(folder_, "text");
  EXPECT_FALSE(read_cache("a"));
  write_cache("a", "contents");
  EXPECT_EQ(clear_cache(), 0u);
  EXPECT_EQ(read_file(folder_), "text");
  EXPECT_NE(cache_stats().refusal, "");
}

TEST_F(CacheTest, WhatIsNotOursIsNeitherCountedNorDeleted) {
  write_cache("a", "contents");
  const std::string digits = "0123456789abcdef0123456789abcdef";
  const std::vector<std::string> plain = {
      "main.c",     "key",        digits + "0",      digits.substr(1),
      digits + ".", digits + "~", digits + ".1.234", "0123456789ABCDEF0123456789ABCDEF"};
  for (const std::string& name : plain) write_file_at(folder_ + "/" + name, "mine");
  ASSERT_EQ(mkfifo((folder_ + "/" + digits).c_str(), 0600), 0);
  fs::create_symlink(folder_ + "/main.c", folder_ + "/1" + digits.substr(1));
  fs::create_directory(folder_ + "/2" + digits.substr(1));
  const std::size_t foreign = plain.size() + 3;
  EXPECT_EQ(cache_stats().files, 1u);
  // More than a cache holds: old entries go, and what a killed process left; an archive stays.
  write_file_at(folder_ + "/archive", "");
  fs::resize_file(folder_ + "/archive", std::uint64_t{300} << 20);
  EXPECT_LT(cache_stats().bytes, 1'000u);
  std::vector<std::string> old;
  for (int i = 100; i < 400; ++i) {
    std::string name = std::to_string(i) + digits.substr(3);
    if (i % 2 == 0) name += "." + digits.substr(16);
    old.push_back(folder_ + "/" + name);
    write_file_at(old.back(), "");
    fs::resize_file(old.back(), 1 << 20);
    fs::last_write_time(old.back(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  EXPECT_EQ(cache_stats().files, 301u);
  const std::string contents(2'000'000, 'x');
  for (const char* key : {"b", "c", "d"}) write_cache(key, contents);
  EXPECT_LT(cache_stats().bytes, std::uint64_t{150} << 20);
  for (const char* key : {"b", "c", "d"}) EXPECT_TRUE(read_cache(key) == contents);
  EXPECT_EQ(read_cache("a"), "contents");
  EXPECT_TRUE(fs::exists(folder_ + "/archive"));

  clear_cache();
  EXPECT_EQ(files(), foreign + 1) << "what was there, and the archive";
  for (const std::string& name : plain) EXPECT_EQ(read_file(folder_ + "/" + name), "mine") << name;
}

// Runs a test's body in another process, which has to end with 0.
pid_t in_a_process(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  body();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}
bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(CacheTest, ProcessesThatStartAtOnceAgreeOnAKey) {
  for (std::uint64_t round = 0; round < cases(50, 200); ++round) {
    fs::remove_all(folder_);
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
      children.push_back(in_a_process([&] {
        close(gate[1]);
        char byte = 0;
        (void)!read(gate[0], &byte, 1);  // until all are there
        write_cache(std::to_string(i), "contents");
      }));
      ASSERT_GT(children.back(), 0);
    }
    close(gate[1]);
    close(gate[0]);
    for (pid_t child : children) EXPECT_TRUE(ended_well(child));
    for (int i = 0; i < 6; ++i) EXPECT_EQ(read_cache(std::to_string(i)), "contents");
    EXPECT_EQ(files(), 6 + 1u);
  }
}

TEST_F(CacheTest, AFullDiskLeavesNothingHalfWritten) {
  // As if there were only so many bytes left.
  const auto with_room = [&](rlim_t bytes, const std::function<void()>& body) {
    return ended_well(in_a_process([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
      body();
    }));
  };
  EXPECT_TRUE(with_room(8, [&] {
    write_cache("a", "contents");
    EXPECT_FALSE(read_cache("a"));
  }));
  EXPECT_EQ(files(), 0u) << "no room for the key";
  write_cache("a", "contents");
  EXPECT_TRUE(with_room(1000, [&] {
    write_cache("b", std::string(2000, 'x'));
    EXPECT_FALSE(read_cache("b"));
    write_cache("a", std::string(2000, 'x'));
    EXPECT_EQ(read_cache("a"), "contents") << "what was there before";
  }));
  EXPECT_EQ(files(), 2u);
}

TEST_F(CacheTest, AFolderThatCannotBeMadeIsDoneWithout) {
  setenv("VYRE_CACHE", "/proc/self/nowhere", 1);
  write_cache("a", "contents");
  EXPECT_FALSE(read_cache("a"));
  EXPECT_EQ(cache_stats().files, 0u);
}

}  // namespace
}  // namespace vyre
