#include "tests/support/families.h"

#include <gtest/gtest.h>

#include <sstream>

#include "vyre/vyre.h"

namespace vyre {

void fill(Case& c, Random& random, const std::function<std::uint32_t(const BufferDecl&)>& length) {
  for (const BufferDecl& buffer : c.program().buffers) {
    std::vector<std::byte>& bytes = c.contents.emplace_back();
    if (!is_bound(buffer.access)) continue;
    const std::uint32_t elements = std::max(buffer.count, length(buffer));
    const std::size_t size = std::size_t{elements} * stride(buffer.element);
    std::vector<std::uint32_t> words((size + 3) / 4);
    const bool is_any = is_narrow(buffer.element);
    for (std::uint32_t& word : words) {
      word = is_any || random.one_in(3) ? random.word() : random.below(40);
    }
    const auto view = std::as_bytes(std::span(words));
    bytes.assign(view.begin(), view.begin() + static_cast<std::ptrdiff_t>(size));
  }
}

Case case_of(const std::string& text, std::array<std::uint32_t, 3> grid, Random& random,
             const std::function<std::uint32_t(const BufferDecl&)>& length) {
  const Result<Loaded> loaded = load_module({"family.vyre", text});
  EXPECT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]) << text;
  Case c;
  if (!loaded.ok()) return c;
  c.module = loaded->module;
  c.grid = grid;
  fill(c, random, length);
  return c;
}

// --- Collectives --------------------------------------------------------------------------------

Case collectives_case(std::array<std::uint32_t, 3> size, std::uint64_t seed) {
  Random random(seed);
  const std::uint32_t count = size[0] * size[1] * size[2];
  const std::array<std::uint32_t, 3> grid = {1 + random.below(3), 1 + random.below(2), 1};
  const std::string all = std::to_string(count);

  std::vector<std::string> calls;
  for (const char* name :
       {"add", "min", "max", "and", "or", "xor", "scan_add", "scan_min", "scan_max"}) {
    calls.push_back("workgroup_" + std::string(name) + "(v");
  }
  const std::string chosen[] = {"0",    std::to_string(count - 1), all,
                                "n[0]", "n[0] % " + all,           "workgroup_id.x"};
  calls.push_back("workgroup_broadcast(v, " + random.pick(chosen));
  const std::string others[] = {"lane ^ 1", "lane + 1",      "lane - 1",
                                "a[i]",     "a[i] % " + all, std::to_string(count - 1) + " - lane"};
  calls.push_back("workgroup_shuffle(v, " + random.pick(others));
  calls.push_back("workgroup_shuffle(v, " + random.pick(others));
  random.shuffle(calls);

  std::ostringstream text;
  text << "program collectives workgroup(" << size[0] << ", " << size[1] << ", " << size[2]
       << ") {\n  read a: u32[]\n  uniform n: u32[1]\n";
  for (const char* type : {"u32", "i32", "u64"}) {
    text << "  read_write " << type << "s: " << type << "[]\n";
  }
  text << "  let lane = local_id.x + " << size[0] << " * (local_id.y + " << size[1]
       << " * local_id.z)\n"
       << "  let group = workgroup_id.x + num_workgroups.x * workgroup_id.y\n"
       << "  let i = group * " << all << " + lane\n  let word = a[i]\n";
  for (const char* type : {"u32", "i32", "u64"}) {
    const std::string name = type;
    const std::string one = name == "u32" ? "1" : "1" + name;
    const char* const values[] = {"word", "word * 0x9e3779b9", "n[0] + 5", "lane ^ word"};
    const std::string value = random.pick(values);
    const bool loops = random.one_in(3);
    const bool guards = random.one_in(4);
    text << "  {\n    let v = " << (name == "u32" ? value : name + "(" + value + ")") << "\n";
    if (name == "u64") text << "    v = v << 29 ^ v\n";
    if (guards) text << "    if n[0] < 30 {\n";
    if (loops) text << "    for k in 0..2 + n[0] % 3 {\n";
    std::uint32_t at = 0;
    for (const std::string& call : calls) {
      text << "    let r" << at << " = " << call << ")\n    " << name << "s[i * " << calls.size()
           << " + " << at << "] = r" << at << "\n";
      ++at;
    }
    if (loops)
      text << "    v = v * 3" << one.substr(1) << " + r" << random.below(at) << "\n    }\n";
    if (guards) text << "    }\n";
    text << "  }\n";
  }
  text << "}\n";
  return case_of(text.str(), grid, random, [&](const BufferDecl& buffer) {
    if (buffer.access == BufferAccess::Uniform) return 1u;
    const auto elements = count * grid[0] * grid[1];
    if (buffer.access == BufferAccess::Uniform) return 1u;
    if (buffer.access == BufferAccess::ReadOnly) return elements - random.below(2);
    return elements * static_cast<std::uint32_t>(calls.size());
  });
}

namespace {

// All blocks are entered by a whole workgroup or not at all.
class NeighboursWriter {
 public:
  explicit NeighboursWriter(std::uint64_t seed) : random_(seed) {}

  Case write() {
    const std::uint32_t count = one_of<std::uint32_t>({1, 2, 7, 31, 32, 40, 64, 96, 256});
    const std::array<std::uint32_t, 3> grid = {1 + random_.below(5), 1, 1};
    text_ << "program neighbours workgroup(" << count << ") {\n  read a: u32[]\n"
          << "  uniform n: u32[4]\n  read_write out: u32[]\n"
          << "  let i = invocation_id.x\n  let word = a[i]\n  let sum = 0\n";
    block(0);
    text_ << "  out[i] = sum\n}\n";
    return case_of(text_.str(), grid, random_, [&](const BufferDecl&) { return count * grid[0]; });
  }

 private:
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[random_.below(static_cast<std::uint32_t>(all.size()))];
  }

  void block(std::uint32_t depth) {
    const std::uint32_t parts = 1 + random_.below(3);
    for (std::uint32_t i = 0; i < parts; ++i) {
      run();
      if (depth == 2 || random_.one_in(3)) continue;
      const bool is_loop = random_.one_in(3);
      text_ << (is_loop ? "  for k" + std::to_string(depth) + " in 0..n[1] % 4 {\n"
                        : "  if bool(n[0] & 1) {\n");
      block(depth + 1);
      if (!is_loop && random_.one_in(2)) {
        text_ << "  } else {\n";
        block(depth + 1);
      }
      text_ << "  }\n";
    }
    if (random_.one_in(2)) run();
  }

  // The results are used, or the run is the last thing in its block, perhaps.
  void run() {
    const std::uint32_t first = number_;
    const std::uint32_t size = 1 + random_.below(6);
    std::vector<std::string> uses;
    for (; number_ < first + size; ++number_) {
      const std::string type = one_of<std::string>({"u32", "u32", "i32", "u64"});
      const std::string name = "r" + std::to_string(number_);
      text_ << "  let " << name << " = workgroup_"
            << one_of<std::string>(
                   {"add", "min", "max", "and", "or", "xor", "scan_add", "scan_min", "scan_max"})
            << "(" << type << "(" << value() << "))\n";
      const std::string zero = type == "u32" ? "0" : "0" + type;
      const std::string other = type + "(a[i + " + std::to_string(random_.below(3)) + "])";
      uses.push_back(one_of<std::string>(
          {name, "max(" + zero + ", " + name + " - " + other + ")",
           "min(" + other + ", " + name + " - " + other + " * 3" + zero.substr(1) + ")"}));
    }
    if (random_.one_in(4)) return;
    for (const std::string& use : uses) text_ << "  sum = sum * 31 + u32(" << use << ")\n";
  }

  std::string value() {
    return one_of<std::string>({"word", "local_id.x", "1", "0", "7", "0xffffffff", "local_id.x & 0",
                                "n[2]", "sum", "word % 5", "i ^ word"});
  }

  Random random_;
  std::ostringstream text_;
  std::uint32_t number_ = 0;
};

}  // namespace

Case neighbours_case(std::uint64_t seed) { return NeighboursWriter(seed).write(); }

std::vector<std::array<std::uint32_t, 3>> workgroup_sizes(std::size_t every, std::size_t first) {
  std::vector<std::array<std::uint32_t, 3>> all;
  for (std::uint32_t count = 1; count <= 130; ++count) all.push_back({count, 1, 1});
  for (const std::array<std::uint32_t, 3> size : {std::array<std::uint32_t, 3>{8, 8, 1},
                                                  {2, 3, 1},
                                                  {3, 2, 5},
                                                  {1, 32, 1},
                                                  {1, 1, 33},
                                                  {7, 1, 5},
                                                  {16, 16, 1},
                                                  {4, 4, 4},
                                                  {33, 3, 1},
                                                  {5, 5, 5},
                                                  {32, 2, 2},
                                                  {1, 65, 2},
                                                  {256, 1, 1},
                                                  {257, 1, 1},
                                                  {512, 1, 1},
                                                  {31, 33, 1},
                                                  {1024, 1, 1}}) {
    all.push_back(size);
  }
  std::vector<std::array<std::uint32_t, 3>> some;
  for (std::size_t i = first % every; i < all.size(); i += every) some.push_back(all[i]);
  return some;
}

// --- Narrow elements ----------------------------------------------------------------------------

namespace {

class NarrowWriter {
 public:
  explicit NarrowWriter(std::uint64_t seed) : random_(seed) {
    constexpr std::string_view kTypes[] = {"u8", "i8", "u16", "i16"};
    type_ = kTypes[seed % 4];
    other_ = random_.one_in(2) ? type_ : random_.pick(kTypes);
    const std::uint32_t sizes[] = {1 + random_.below(70), 16, 32, 64, 128, 1 + random_.below(9)};
    size_ = random_.pick(sizes);
    groups_ = 1 + random_.below(5);
  }

  Case write() {
    const bool in_place = random_.one_in(4);
    const bool has_tile = random_.one_in(3);
    std::ostringstream text;
    text << "program narrow workgroup(" << size_ << ") {\n  read a: " << type_
         << "[]\n  read b: " << other_ << "[]\n  read_write out: " << type_
         << "[]\n  read_write more: " << other_ << "[]\n";
    if (has_tile) text << "  workgroup tile: " << type_ << "[" << size_ + random_.below(5) << "]\n";
    text << "  let i = invocation_id.x\n  let lane = local_id.x\n  let n = len(out)\n"
         << "  let x = i32(a[" << place() << "]) ^ i32(b[" << place() << "])\n";
    if (has_tile) {
      text << "  tile[lane] = " << as(type_, "x") << "\n  barrier\n"
           << "  x = x + i32(tile[lane ^ 1]) - i32(tile[" << size_ - 1 << " - lane])\n";
    }
    if (in_place) text << "  x = x * 3i32 + i32(out[i])\n";
    switch (in_place ? 0 : random_.below(6)) {
      case 0: guarded(text, store("out", type_, "i")); break;
      case 1: guarded(text, store("out", type_, "n - 1 - i")); break;
      case 2: guarded(text, store("out", type_, "i ^ 1")); break;
      case 3: {  // side by side
        const std::uint32_t step = 2 + random_.below(3);
        for (std::uint32_t k = 0; k < step; ++k) {
          guarded(text,
                  store("out", type_, "i * " + std::to_string(step) + " + " + std::to_string(k)));
        }
        break;
      }
      case 4: {
        const std::string step = std::to_string(1 + random_.below(9));
        text << "  for k in 0.." << step << " {\n  ";
        guarded(text, store("out", type_, "i * " + step + " + k"));
        text << "  x = x + 7i32\n  }\n";
        break;
      }
      case 5: guarded(text, store("out", type_, "i + " + std::to_string(random_.below(70)))); break;
    }
    guarded(text, store("more", other_, "i * " + std::to_string(1 + random_.below(3))));
    text << "}\n";
    const std::uint32_t count = size_ * groups_;
    return case_of(text.str(), {groups_, 1, 1}, random_, [&](const BufferDecl&) {
      return random_.one_in(2) ? count : random_.below(count * 3 + 5);
    });
  }

 private:
  static std::string as(std::string_view type, const std::string& value) {
    return (type.front() == 'i' ? "" : "u32") + ("(" + value + ")");
  }
  std::string store(const std::string& buffer, std::string_view type, const std::string& index) {
    return buffer + "[" + index + "] = " + as(type, "x");
  }
  void guarded(std::ostringstream& text, const std::string& statement) {
    const char* const guards[] = {"i < n", "i & 1 == 0", "x > 0i32", "i % 3 != 1", "lane < 5"};
    if (random_.one_in(2)) {
      text << "  " << statement << "\n";
    } else {
      text << "  if " << random_.pick(guards) << " {\n    " << statement << "\n  }\n";
    }
  }
  std::string place() {
    const char* const places[] = {"i",     "i + 1",  "i - 1", "n - 1 - i",
                                  "i * 3", "i >> 1", "i ^ 3", "7"};
    return random_.pick(places);
  }

  Random random_;
  std::string_view type_;
  std::string_view other_;
  std::uint32_t size_;
  std::uint32_t groups_;
};

}  // namespace

Case narrow_case(std::uint64_t seed) { return NarrowWriter(seed).write(); }

Case table_case(std::uint64_t seed) {
  Random random(seed);
  const std::uint32_t sizes[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257};
  const std::uint32_t size = random.pick(sizes);
  const std::string elements[] = {"u8", "i8", "u8", "i8", "u16", "u32"};
  const std::string element = random.pick(elements);
  const std::uint32_t range = element == "i8" ? 128 : 256;
  const std::string stored = random.one_in(2) ? "u8" : "u32";
  std::ostringstream text;
  text << "const table: " << element << "[" << size << "] = [";
  for (std::uint32_t i = 0; i < size; ++i) text << (i > 0 ? ", " : "") << random.below(range);
  const std::string masked = random.one_in(2) ? " & 255" : "";
  text << "]\nprogram tables workgroup(" << (random.one_in(3) ? 5 : 64)
       << ") {\n  read a: " << stored << "[]\n  read_write out: " << stored
       << "[]\n  let i = invocation_id.x\n  let x = a[i]\n";
  const bool loops = random.one_in(2);
  if (loops) text << "  for k in 0.." << 1 + random.below(70) << " {\n";
  text << "    x = u32(table[(x ^ " << random.below(4) << ")" << masked << "])"
       << (random.one_in(2) ? " + x" : "") << "\n";
  if (loops) text << "  }\n";
  text << "  out[i] = x\n}\n";
  return case_of(text.str(), {1 + random.below(9), 1, 1}, random,
                 [&](const BufferDecl&) { return random.below(400); });
}

}  // namespace vyre
