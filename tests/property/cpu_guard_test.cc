// Code of the CPU backend touches what a program says and nothing else: buffers end where nothing
// can be accessed, or begin there, so that a stray access is a crash. And the bytes are those of
// the interpreter. On every kind of vectors that this machine has: examples, generated programs,
// and programs that are all about masks. VYRE_LONG runs many; VYRE_SEED and VYRE_COUNT choose them,
// VYRE_CPU chooses one kind.
#include <sys/wait.h>

#include <algorithm>
#include <sstream>

#include "tests/support/families.h"
#include "tests/support/guard_fixture.h"
#include "vyre/backends/cpu/host_memory.h"

namespace vyre {
namespace {

// --- Guards -------------------------------------------------------------------------------------

// How a child ends that does this.
int status_of(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Guards, EndTheProcessWhereMemoryEnds) {
  for (const unsigned bytes : {0u, 4u, 64u, 4092u, 4096u, 4100u, 100'000u}) {
    for (const Guard guard : {Guard::End, Guard::Begin}) {
      const HostBytes guarded(bytes, 64, guard);
      std::byte* const memory = guarded.begin();
      ASSERT_NE(memory, nullptr);
      for (unsigned i = 0; i < bytes; ++i) memory[i] = std::byte{1};
      const auto dies = [&](std::int64_t at) {
        volatile std::byte* const place = memory + at;
        const int reads = status_of([&] { (void)*place; });
        const int writes = status_of([&] { *place = std::byte{1}; });
        return WIFSIGNALED(reads) && WIFSIGNALED(writes);
      };
      const auto end = static_cast<std::int64_t>(bytes);
      constexpr std::int64_t kFar = (std::int64_t{16} << 32) - (1 << 20);
      EXPECT_TRUE(dies(guard == Guard::End ? end : -1)) << bytes;
      EXPECT_TRUE(dies(end + kFar)) << bytes;
      EXPECT_TRUE(dies(-kFar)) << bytes;
    }
  }
}

TEST(Guards, AreAskedForByName) {
  setenv("VYRE_GUARD", "both", 1);
  const Opened opened = find_backend("cpu")->open(0);
  unsetenv("VYRE_GUARD");
  EXPECT_EQ(opened.device, nullptr);
  EXPECT_NE(opened.reason, "");
}

// --- Programs -----------------------------------------------------------------------------------

constexpr std::string_view kElements[] = {"u32",     "i32",  "u64",   "u128",
                                          "vec2u32", "bool", "bytes", "vec4u32"};

// A value of an element's type as one word, and a word as such a value.
std::string to_word(std::string_view element, const std::string& name) {
  if (element == "u64") return "u32(" + name + ") ^ u32(" + name + " >> 32)";
  if (element == "u128") return "u32(" + name + ") ^ u32(" + name + " >> 96)";
  if (element == "vec2u32") return name + ".x ^ " + name + ".y";
  if (element == "vec4u32") return name + ".x ^ " + name + ".y ^ " + name + ".z ^ " + name + ".w";
  return element == "i32" || element == "bool" ? "u32(" + name + ")" : name;
}
std::string from_word(std::string_view element, const std::string& word) {
  if (element == "u64") return "u64(" + word + ") << 31";
  if (element == "u128") return "u128(" + word + ") << 90 | u128(" + word + ")";
  if (element == "vec2u32") return "vec2u32(" + word + ", 5)";
  if (element == "vec4u32") return "vec4u32(" + word + ", 6, ~" + word + ", 7)";
  if (element == "bool") return "bool(" + word + " & 1)";
  return element == "i32" ? "i32(" + word + ")" : word;
}

// A program whose accesses are in bounds for some invocations, for none, or for all of them.
class MaskWriter {
 public:
  explicit MaskWriter(std::uint64_t seed) : random_(seed) {
    // The seed itself goes through types and workgroups, so that few programs have all of them.
    element_ = kElements[seed % std::size(kElements)];
    const auto places = static_cast<std::uint32_t>(1 + seed * 7 % 40);
    size_ = {random_.one_in(3) ? 1 + random_.below(5) : places, 1, 1};
    if (random_.one_in(3)) {
      size_ = {1 + random_.below(9), 1 + random_.below(5), 1};
      if (random_.one_in(2)) size_[2] = 1 + random_.below(4);
    }
    grid_ = {1 + random_.below(4), 1, 1};
    for (std::size_t axis = 1; axis < 3; ++axis) {
      if (size_[axis] > 1 || random_.one_in(8)) grid_[axis] = 1 + random_.below(2);
    }
    own_ = "n" + shifted();
    if (random_.one_in(2)) own_ = number() + " - n";
    if (random_.one_in(4)) own_ = "n * " + std::to_string(2 + random_.below(8)) + shifted();
  }

  Case write() {
    std::ostringstream text;
    text << "program masks workgroup(" << size_[0] << ", " << size_[1] << ", " << size_[2]
         << ") {\n  read a: " << element_ << "[]\n  read at: u32[]\n  read_write b: " << element_
         << "[]\n  read_write out: u32[]\n  read_write counts: u32[]\n";
    const bool shares = random_.one_in(2);
    if (shares || random_.one_in(2)) {
      text << "  workgroup s: " << (element_ == "bytes" ? "u32" : element_) << "["
           << (random_.one_in(4) ? 1 + random_.below(70) : group()) << "]\n";
    }
    text << "  let l = (local_id.z * " << size_[1] << " + local_id.y) * " << size_[0]
         << " + local_id.x\n  let n = (invocation_id.z * " << size_[1] * grid_[1]
         << " + invocation_id.y) * " << size_[0] * grid_[0]
         << " + invocation_id.x\n  let i = " << (random_.one_in(2) ? "invocation_id.x" : "n")
         << "\n";
    text << "  let sum = " << (random_.one_in(2) ? "at[i]" : "7") << "\n";
    const std::uint32_t accesses = 1 + random_.below(4);
    for (std::uint32_t n = 0; n < accesses; ++n) {
      if (shares && random_.one_in(2)) {
        exchange(text, n);
      } else {
        access(text, n);
      }
    }
    if (random_.one_in(2)) text << "  for v in 0..len(a) {\n    sum = sum + v\n  }\n";
    text << "  out[n] = sum\n}\n";
    return case_of(text.str(), grid_, random_, [&](const BufferDecl& buffer) {
      return buffer.name == "out" ? invocations() : length();
    });
  }

 private:
  std::uint32_t group() const { return size_[0] * size_[1] * size_[2]; }
  std::uint32_t invocations() const { return group() * grid_[0] * grid_[1] * grid_[2]; }

  // Small, around the widths of vectors, where bytes wrap around, near 2^32, or any.
  std::string number() {
    constexpr std::uint32_t kFar[] = {0x0fffffff, 0x10000000, 0x1fffffff, 0x20000000, 0x3fffffff,
                                      0x40000000, 0x7ffffff0, 0x7fffffff, 0x80000000, 0x80000001,
                                      0xc0000000, 0xfffffff0, 0xfffffffc, 0xffffffff, 0xffffffde};
    const std::uint32_t choice = random_.below(8);
    std::uint32_t value = random_.below(5);
    if (choice == 1) value = random_.below(70);
    if (choice == 2) value = invocations() - 1 + random_.below(3);
    if (choice >= 3) value = random_.pick(kFar);
    if (choice == 7) value = random_.word();
    return std::to_string(value);
  }
  std::string shifted() { return (random_.one_in(2) ? " + " : " - ") + number(); }

  std::string index(bool in_loop) {
    constexpr const char* kIds[] = {"i",          "i",          "i", "invocation_id.x",
                                    "local_id.x", "local_id.y", "l", "workgroup_id.x"};
    const std::string id = random_.pick(kIds);
    const std::string more = in_loop && random_.one_in(2) ? " + v" : "";
    switch (random_.below(12)) {
      case 0: return "len(a) - 1 - " + id + more;
      case 1: return number() + " - " + id + more;
      case 2: return id + " * " + number() + shifted() + more;
      case 3: return id + " * " + std::to_string(1 + random_.below(5)) + shifted() + more;
      case 4: return "at[" + id + "]" + more;
      case 5: return "at[" + id + shifted() + "]" + shifted() + more;
      case 6: return id + " % 3" + shifted() + more;
      case 7: return number() + more;
      default: return id + shifted() + more;
    }
  }

  std::string condition() {
    constexpr const char* kTests[] = {"i < 3",          "i > 5",          "i & 1 == 0",
                                      "at[i] & 1 == 0", "l % 3 == 1",     "local_id.x == 0",
                                      "i < len(a)",     "sum & 1 == 0",   "len(a) > 3",
                                      "at[0] & 1 == 0", "i + 5 < len(b)", "local_id.y < 2"};
    return random_.pick(kTests);
  }

  // A load, a store or an update; alone, in loops, under masks.
  void access(std::ostringstream& text, std::uint32_t n) {
    constexpr const char* kEnds[] = {"3", "len(a)", "i & 3", "len(at) % 5", "l"};
    const std::uint32_t around = random_.below(6);
    const bool in_loop = around >= 4;
    std::uint32_t closing = 0;
    if (around == 2 || around == 4) text << "  if " << condition() << " {\n", ++closing;
    if (in_loop) text << "  for v in 0.." << random_.pick(kEnds) << " {\n", ++closing;
    if (around == 3 || around == 5) text << "  if " << condition() << " {\n", ++closing;
    const std::string name = "r" + std::to_string(n);
    const std::uint32_t what = random_.below(6);
    if (what < 4) {
      text << "  let " << name << " = a[" << index(in_loop) << "]\n  sum = sum * 31 + ("
           << to_word(element_, name) << ")\n";
    } else if (what == 4) {
      text << "  b[" << own_ << "] = " << from_word(element_, "sum") << "\n";
    } else {
      text << "  atomic_add(counts[" << index(in_loop) << "], sum)\n";
    }
    for (; closing > 0; --closing) text << "  }\n";
  }

  // Everybody writes an element of its own in workgroup memory, and reads any.
  void exchange(std::ostringstream& text, std::uint32_t n) {
    const bool in_loop = random_.one_in(3);
    if (in_loop) text << "  for v in 0.." << (random_.one_in(2) ? "2" : "len(a) % 4") << " {\n";
    const std::string own = random_.one_in(2)   ? "l"
                            : random_.one_in(2) ? "l" + shifted()
                                                : number() + " - l";
    const std::string name = "t" + std::to_string(n);
    text << "  s[" << own << "] = " << from_word(element_, "sum") << "\n  barrier\n  let " << name
         << " = s[" << index(in_loop) << "]\n  sum = sum * 31 + (" << to_word(element_, name)
         << ")\n  barrier\n";
    if (in_loop) text << "  }\n";
  }

  // None, one, around the widths of vectors, or around the number of invocations.
  std::uint32_t length() {
    if (random_.one_in(2)) return random_.below(36);
    const std::uint32_t many = invocations();
    return random_.one_in(2) ? many : many - std::min(many, 3u) + random_.below(7);
  }

  Random random_;
  std::string_view element_;
  std::array<std::uint32_t, 3> size_{};
  std::array<std::uint32_t, 3> grid_{};
  std::string own_;  // where an invocation writes; n is another number for each
};

// With buffers of any lengths, not those that it is made for.
Case with_any_buffers(const Module& module, const Program& program, Random& random) {
  Case c;
  for (const Item& item : module.items) {
    if (std::holds_alternative<Op>(item)) c.module.items.push_back(item);
  }
  c.module.items.emplace_back(program);
  c.grid = {1 + random.below(3), 1, 1};
  if (program.workgroup_size[1] > 1) c.grid[1] = 1 + random.below(2);
  fill(c, random, [&](const BufferDecl& buffer) {
    return buffer.count > 0 ? buffer.count : random.below(random.one_in(2) ? 40 : 400);
  });
  return c;
}

// Rows of a workgroup that fills a part of a vector, all out of bounds, with a loop that keeps LLVM
// from seeing all of it at once. LLVM 19 has dropped such masks.
Case far_row(std::uint64_t seed) {
  Random random(seed);
  const std::string_view element = kElements[seed % std::size(kElements)];
  const std::uint64_t places = 1 + seed / std::size(kElements) % 40;
  constexpr const char* kRows[] = {"n - 34",         "n + 100",        "n + 0x7fffffff",
                                   "n + 0x10000000", "n - 0x20000000", "0xfffffff0 - n"};
  const std::string row = "  let r = a[" + std::string(random.pick(kRows)) + "]\n";
  const std::string store = "  b[" + std::string(random.pick(kRows)) + "] = ";
  const bool is_inside = random.one_in(3);
  const std::string text =
      "program far workgroup(" + std::to_string(places) + ") {\n  read a: " + std::string(element) +
      "[]\n  read_write b: " + std::string(element) +
      "[]\n  read_write out: u32[]\n  workgroup s: u32[1]\n"
      "  let n = invocation_id.x\n  let sum = 0\n" +
      (is_inside ? "" : row + "  sum = " + to_word(element, "r") + "\n") +
      "  for v in 0..len(a) {\n" +
      (is_inside ? row + "  sum = sum ^ " + to_word(element, "r") + "\n" : "") +
      "    sum = sum + v\n" + (random.one_in(3) ? store + from_word(element, "sum") + "\n" : "") +
      "  }\n  out[n] = sum\n" + store + from_word(element, "sum") + "\n}\n";
  return case_of(text, {3, 1, 1}, random, [&](const BufferDecl& buffer) {
    return buffer.name == "out" ? static_cast<std::uint32_t>(3 * places) : 1 + random.below(33);
  });
}

TEST_F(CpuGuard, ExamplesTouchNothingElse) {
  const std::uint64_t rounds = is_long() ? 50 : 1;
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    std::uint64_t number = 0;
    for (const std::string& file : program_files({"examples", "bench/programs"})) {
      const Result<Loaded> loaded = load_module({file, read_file(file)});
      ASSERT_TRUE(loaded.ok()) << file;
      for (const Item& item : loaded->module.items) {
        const Program* program = std::get_if<Program>(&item);
        if (program == nullptr) continue;
        // Each on one kind, unless there is time.
        if (!is_long() && ++number % 5 != kind % 5) continue;
        for (std::uint64_t round = 0; round < rounds; ++round) {
          Random random(kind * 1000 + round);
          const Case c = with_any_buffers(loaded->module, *program, random);
          const std::string wrong = difference(c);
          // With such buffers it may race.
          if (!wrong.empty() && is_clean(c)) ADD_FAILURE() << file << ": " << wrong << to_text(c);
        }
      }
    }
  });
  EXPECT_GT(compared_, 20u);
}

TEST_F(CpuGuard, GeneratedProgramsTouchNothingElse) {
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    check_generated(200'000 + 1000 * kind, is_long() ? 50'000 : kSanitized ? 8 : 20);
  });
}

TEST_F(CpuGuard, FarRowsTouchNothing) {
  // All workgroups up to 6 with every element, then more of them with some.
  const std::uint64_t count = is_long() ? 4'000 : kSanitized ? 8 : 48;
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    check_cases(kSanitized ? kind * count : 0, count, far_row);
  });
}

TEST_F(CpuGuard, MaskedAccessesTouchNothingElse) {
  const std::uint64_t count = is_long() ? 20'000 : kSanitized ? 8 : 40;
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    check_cases(kind * count, count, [](std::uint64_t seed) { return MaskWriter(seed).write(); });
  });
}

TEST_F(CpuGuard, CollectivesOfAllWorkgroups) {
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    const auto sizes = is_long() ? workgroup_sizes(1) : workgroup_sizes(kSanitized ? 49 : 13, kind);
    check_cases(0, sizes.size(),
                [&](std::uint64_t i) { return collectives_case(sizes[i], 1000 * kind + i); });
  });
}

TEST_F(CpuGuard, CollectivesSideBySide) {
  const std::uint64_t count = is_long() ? 5'000 : kSanitized ? 2 : 12;
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    check_cases(kind * count, count, neighbours_case);
  });
}

TEST_F(CpuGuard, TablesAreLookedUp) {
  const std::uint64_t count = is_long() ? 5'000 : kSanitized ? 8 : 40;
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    check_cases(kind * count, count, table_case);
  });
}

TEST_F(CpuGuard, NarrowElementsLeaveTheirNeighboursAlone) {
  const std::uint64_t count = is_long() ? 10'000 : kSanitized ? 8 : 40;
  for_each_kind([&](std::uint64_t kind, const std::string&) {
    check_cases(kind * count, count, narrow_case);
  });
}

}  // namespace
}  // namespace vyre
