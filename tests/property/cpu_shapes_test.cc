// Programs in the shapes that the CPU backend writes special code for: rows that overlap, records,
// stretches for each invocation, workgroup memory row by row, updates that commute, and buffers
// beyond the caches; with sizes, grids and guards that fit and that do not.
#include <map>
#include <sstream>

#include "tests/support/cpu_fixture.h"
#include "vyre/backends/cpu/target.h"
#include "vyre/base/random.h"

namespace vyre {
namespace {

// A program with sizes for its buffers.
struct Written {
  std::string text;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::map<std::string, std::vector<std::uint32_t>> contents;
};

class CpuShapes : public Cpu {
 protected:
  using Writer = Written (*)(Random& random);

  void check(const Written& written) {
    const Result<Loaded> loaded = load_module({"shape.vyre", written.text});
    ASSERT_TRUE(loaded.ok()) << render(loaded.diagnostics()[0]) << written.text;
    Case c;
    c.module = loaded->module;
    c.grid = written.grid;
    for (const BufferDecl& buffer : c.program().buffers) {
      const auto found = written.contents.find(buffer.name);
      std::vector<std::byte> bytes;
      if (found != written.contents.end()) {
        const auto view = std::as_bytes(std::span(found->second));
        bytes.assign(view.begin(), view.end());
      }
      c.contents.push_back(std::move(bytes));
    }
    EXPECT_EQ(difference(c), "") << written.text << "grid " << written.grid[0] << ","
                                 << written.grid[1] << sizes(written);
  }

  void check_all(Writer write, std::uint64_t count) {
    for (std::uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
      Random random(seed);
      check(write(random));
    }
    EXPECT_GE(compared_, count * 3 / 4);
    const CpuTarget own = *host_target();
    for (std::string_view name : cpu_targets()) {
      if (!runs_here(name) || *find_cpu_target(name) == own) continue;
      setenv("VYRE_CPU", std::string(name).c_str(), 1);
      SCOPED_TRACE(name);
      for (std::uint64_t seed = 0; seed < count / 8 && !HasFailure(); ++seed) {
        Random random(1000 + seed);
        check(write(random));
      }
    }
  }

  static std::string sizes(const Written& written) {
    std::ostringstream text;
    for (const auto& [name, words] : written.contents) text << " " << name << ":" << words.size();
    return text.str();
  }
};

const std::uint64_t kCount = cases(80, 7'500);

std::uint32_t between(Random& random, std::uint32_t least, std::uint32_t most) {
  return least + static_cast<std::uint32_t>(random.below(most - least + 1));
}
bool one_in(Random& random, std::uint32_t n) { return random.below(n) == 0; }
std::vector<std::uint32_t> words(Random& random, std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t& word : all) word = static_cast<std::uint32_t>(random.next());
  return all;
}
// " + 3" or " - 3", mostly small.
std::string shifted(Random& random, std::uint32_t most) {
  const std::uint32_t by = between(random, 0, one_in(random, 4) ? 3 * most : most);
  return (one_in(random, 2) ? " + " : " - ") + std::to_string(by);
}
template <class Number>
Number pick(Random& random, std::initializer_list<Number> from) {
  return from.begin()[random.below(static_cast<std::uint32_t>(from.size()))];
}

Written stencil(Random& random) {
  Written w;
  const std::uint32_t x = pick<std::uint32_t>(random, {64, 16, 8, 7, 256, 32});
  const std::uint32_t y = pick<std::uint32_t>(random, {1, 2, 4, 8, 3});
  w.grid = {between(random, 1, 6), between(random, 1, 6), 1};
  const std::uint32_t columns = one_in(random, 3) ? between(random, 1, 200) : x * w.grid[0];
  const std::uint32_t rows = one_in(random, 3) ? between(random, 1, 30) : y * w.grid[1];
  std::ostringstream text;
  text << "program stencil workgroup(" << x << ", " << y << ") {\n  read a: u32[]\n"
       << "  uniform size: u32[2]\n  read_write out: u32[]\n  read_write other: u32[]\n"
       << "  let x = invocation_id.x\n"
       << "  let y = invocation_id.y\n  let columns = size[0]\n  let rows = size[1]\n"
       << "  let sum = 0\n";
  const bool guarded = !one_in(random, 3);
  if (guarded) text << "  if x < columns && y < rows {\n";
  for (std::uint32_t i = between(random, 2, 9); i > 0; --i) {
    const std::string column = "x" + shifted(random, 2);
    const std::string row = "y" + shifted(random, 1);
    const std::string cell = "a[(" + row + ") * columns + (" + column + ")]";
    if (one_in(random, 2)) {
      text << "    if " << column << " < columns && " << row << " < rows {\n      sum = sum * 3 + "
           << cell << "\n    }\n";
    } else {
      text << "    sum = sum * 5 + " << cell << "\n";
    }
  }
  if (one_in(random, 3)) {
    text
        << "    if sum & 1 == 1 {\n      sum = sum + a[x]\n    } else {\n      sum = sum * 3\n    }\n";
  }
  if (one_in(random, 3)) text << "    if size[1] > 7 {\n      other[y * 2048 + x] = sum\n    }\n";
  text << "    out[y * " << (guarded ? "columns" : std::to_string(x * w.grid[0]) + "u32")
       << " + x] = sum\n"
       << (guarded ? "  }\n}\n" : "}\n");
  w.text = text.str();
  const std::uint32_t cells = columns * rows;
  w.contents["a"] = words(random, one_in(random, 4) ? between(random, 0, cells) : cells);
  w.contents["size"] = {columns, rows};
  w.contents["other"] = words(random, 2048 * between(random, 1, 30));
  const std::uint32_t all = x * w.grid[0] * y * w.grid[1];
  w.contents["out"] = words(random, one_in(random, 4) ? between(random, 0, all) : all);
  return w;
}

// Tables that are as long as the masks of the indices want, or not.
Written lookups(Random& random) {
  Written w;
  w.grid = {between(random, 1, 9), 1, 1};
  const std::uint32_t size = pick<std::uint32_t>(random, {64, 32, 10, 256});
  const std::uint32_t step = pick<std::uint32_t>(random, {1, 2, 8, 16, 3});
  const std::uint32_t rounds = between(random, 1, 40);
  const std::string element = pick<const char*>(random, {"u32", "u32", "u32", "u64", "vec2u32"});
  const bool is_word = element == "u32";
  const std::string masked = element == "vec2u32" ? ".x" : "";
  std::ostringstream text;
  text << "program lookups workgroup(" << size
       << ") {\n  read data: u32[]\n  read table: " << element
       << "[]\n  read_write out: u32[]\n  let i = invocation_id.x\n  let state = i * 7\n"
       << "  let count = 0\n  for k in 0.." << rounds << " {\n    let x = state ^ data[i * "
       << rounds * step << " + k * " << step << "]\n";
  if (one_in(random, 3))
    text << "    let y = data[i * " << rounds * step << " + k * " << step
         << " + 1]\n    count = count + y\n";
  const std::uint32_t tables = between(random, 1, 5);
  for (std::uint32_t i = 0; i < tables; ++i) {
    const std::string shift = std::to_string(between(random, 0, 24));
    std::string index = "x >> " + shift + " & 0xff";
    if (i > 0) index = std::to_string(i * 256) + " + (" + index + ")";
    if (one_in(random, 8)) index = "state + (x & 0xff)";
    const std::string found = "table[" + index + "]" + masked;
    text << "    state = state * 5 + "
         << (is_word || !masked.empty() ? found : "u32(" + found + ")") << "\n";
    if (one_in(random, 8)) text << "    if state & 3 == 1 {\n      count = count + 1\n    }\n";
    if (one_in(random, 12)) text << "    if state & 255 == 7 {\n      break\n    }\n";
  }
  text << "    count = count + u32(state == x)\n  }\n  out[i] = state + count\n}\n";
  w.text = text.str();
  const std::uint32_t all = size * w.grid[0];
  const std::uint32_t whole = all * rounds * step;
  w.contents["data"] = words(random, one_in(random, 4) ? between(random, 0, whole) : whole);
  const std::uint32_t length = tables * 256 * (is_word ? 1 : 2);
  w.contents["table"] =
      words(random, one_in(random, 3) ? between(random, 0, length / 2) * 2 : length);
  if (one_in(random, 2)) {
    for (std::uint32_t& word : w.contents["table"]) word %= tables * 256;
  }
  w.contents["out"] = words(random, one_in(random, 4) ? between(random, 0, all) : all);
  return w;
}

Written records(Random& random) {
  Written w;
  const std::uint32_t from = pick<std::uint32_t>(random, {2, 4, 8, 16, 3, 4});
  const std::uint32_t to = pick<std::uint32_t>(random, {2, 4, 8, 1, 4, 5});
  const std::uint32_t size = pick<std::uint32_t>(random, {64, 32, 10, 256});
  w.grid = {between(random, 1, 12), 1, 1};
  const std::uint32_t count = size * w.grid[0];
  std::ostringstream text;
  text << "program records workgroup(" << size << ") {\n  read a: u32[]\n"
       << "  read_write out: u32[]\n  let i = invocation_id.x\n  let sum = 1\n";
  const std::uint32_t shift = one_in(random, 4) ? between(random, 1, 5) : 0;
  for (std::uint32_t k = 0; k < from; ++k) {
    if (one_in(random, 8)) continue;
    text << "  let v" << k << " = a[i * " << from << " + " << k + shift << "]\n  sum = sum * 7 + v"
         << k << "\n";
  }
  const bool guarded = one_in(random, 2);
  if (guarded) text << "  if i < len(out) / " << to << " {\n";
  for (std::uint32_t k = 0; k < to; ++k) {
    if (one_in(random, 10)) continue;
    text << "  out[i * " << to << " + " << k << "] = sum + " << k << "\n";
    if (one_in(random, 3)) text << "  sum = sum * 3 + mul_high(sum, 0x9e3779b9)\n";
  }
  text << (guarded ? "  }\n}\n" : "}\n");
  w.text = text.str();
  const auto length = [&](std::uint32_t all) {
    return one_in(random, 3) ? between(random, 0, all) : all;
  };
  w.contents["a"] = words(random, length(count * from));
  w.contents["out"] = words(random, length(count * to));
  return w;
}

Written stretches(Random& random) {
  Written w;
  const std::uint32_t size = pick<std::uint32_t>(random, {64, 32, 10});
  const std::uint32_t stretch = pick<std::uint32_t>(random, {1, 4, 17, 64, 40});
  w.grid = {between(random, 1, 6), 1, 1};
  const std::uint32_t count = size * w.grid[0];
  std::ostringstream text;
  text << "program stretches workgroup(" << size << ") {\n  read a: u32[]\n  read table: u32[]\n"
       << "  uniform n: u32[2]\n  read_write out: u32[]\n  let i = invocation_id.x\n"
       << "  let state = i\n  let steps = 0\n  for k in "
       << pick<const char*>(random, {"0..n[0]", "n[1]..n[0]", "0..40", "2..n[0] + 1"}) << " {\n";
  const std::string index =
      pick<std::string>(random, {"i * " + std::to_string(stretch) + " + k", "k * n[0] + i", "i + k",
                                 "i - k", "k", "(i + k) * 3", "n[0] * i + k * 2"});
  text << "    let v = a[" << index << "]\n";
  if (one_in(random, 2))
    text << "    state = table[(state ^ v) & 63] + state * 5\n";
  else
    text << "    state = state * 31 + v\n";
  if (one_in(random, 2)) {
    text << "    if state >> 2 & " << between(random, 1, 31) << " == 3 {\n      break\n    }\n";
  }
  if (one_in(random, 4)) text << "    if v == 7 {\n      continue_marker\n    }\n";
  text << "    steps = steps + 1\n  }\n  out[i] = state * 3 + steps\n}\n";
  w.text = text.str();
  if (const std::size_t at = w.text.find("continue_marker"); at != std::string::npos) {
    w.text.replace(at, 15, "state = state ^ v");
  }
  const auto length = [&](std::uint32_t all) {
    return one_in(random, 3) ? between(random, 0, all) : all;
  };
  w.contents["a"] = words(random, length(count * stretch + 100));
  w.contents["table"] = words(random, length(64));
  w.contents["n"] = {between(random, 0, stretch + 3), between(random, 0, 3)};
  w.contents["out"] = words(random, length(count));
  return w;
}

Written barriers(Random& random) {
  Written w;
  const std::uint32_t x = pick<std::uint32_t>(random, {64, 128, 256, 16, 48, 20});
  const std::uint32_t y = x <= 20 ? pick<std::uint32_t>(random, {1, 4, 8}) : 1;
  const std::uint32_t size = x * y;
  w.grid = {between(random, 1, 4), 1, 1};
  std::ostringstream text;
  text << "program barriers workgroup(" << x << ", " << y << ") {\n  read a: u32[]\n"
       << "  uniform n: u32[1]\n  read_write out: u32[]\n  workgroup cells: u32["
       << (one_in(random, 4) ? size - size / 4 : size) << "]\n"
       << "  let lane = local_id.y * " << x << " + local_id.x\n"
       << "  let i = workgroup_id.x * " << size << " + lane\n  let sum = a[i]\n";
  const bool loops = one_in(random, 3);
  if (loops) text << "  for round in 0..n[0] {\n";
  for (std::uint32_t i = between(random, 1, 5); i > 0; --i) {
    const std::uint32_t by = pick<std::uint32_t>(random, {1, 2, 3, 8, 15, 16, 17, 32, 64, 100});
    text << "  cells[" << pick<const char*>(random, {"lane", "lane", "lane", "lane ^ 1"})
         << "] = sum\n  barrier\n";
    switch (random.below(4)) {
      case 0:
        text << "  if lane >= " << by << " {\n    sum = sum + cells[lane - " << by << "]\n  }\n";
        break;
      case 1:
        text << "  if lane < " << by << " {\n    sum = sum * 3 + cells[lane + " << by << "]\n  }\n";
        break;
      case 2:
        text << "  sum = sum * 5 + cells[lane " << (one_in(random, 2) ? "+ " : "- ") << by << "]\n";
        break;
      default: text << "  sum = sum ^ cells[" << by << "] + cells[local_id.y]\n"; break;
    }
    text << "  barrier\n";
    if (one_in(random, 4)) {
      text << "  if lane == " << by << " {\n    cells[" << by / 2 << "] = sum\n  }\n  barrier\n"
           << "  sum = sum + cells[lane]\n  barrier\n";
    }
  }
  if (loops) text << "  }\n";
  text << "  out[i] = sum\n}\n";
  w.text = text.str();
  const std::uint32_t count = size * w.grid[0];
  const auto length = [&](std::uint32_t all) {
    return one_in(random, 4) ? between(random, 0, all) : all;
  };
  w.contents["a"] = words(random, length(count));
  w.contents["n"] = {between(random, 0, 3)};
  w.contents["out"] = words(random, length(count));
  return w;
}

Written updates(Random& random) {
  Written w;
  const std::uint32_t size = pick<std::uint32_t>(random, {64, 256, 10});
  w.grid = {between(random, 1, 12), 1, 1};
  const std::uint32_t count = size * w.grid[0];
  const char* type = pick<const char*>(random, {"u32", "i32"});
  const char* op = pick<const char*>(random, {"add", "and", "or", "xor", "min", "max"});
  const std::uint32_t bins = pick<std::uint32_t>(random, {1, 7, 256, 2048, 2049, 5000});
  std::ostringstream text;
  text << "program updates workgroup(" << size << ") {\n  read a: u32[]\n  read_write out: " << type
       << "[]\n";
  text << "  let i = invocation_id.x\n  let v = a[i]\n  let n = len(out)\n";
  if (one_in(random, 2))
    text << "  if i < len(a) {\n";
  else
    text << "  if v >> 3 & 3 != 1 {\n";
  const std::string index = pick<std::string>(
      random, {"v & 0xff", "v >> 8 & 0xff", "0", "i", "v % 9", "n - 1", "v & 0x1fff", "i * 2"});
  text << "    atomic_" << op << "(out[" << index << "], " << type << "("
       << pick<const char*>(random, {"v", "1", "i", "v * 3"}) << "))\n  }\n}\n";
  w.text = text.str();
  w.contents["a"] = words(random, one_in(random, 3) ? between(random, 0, count) : count);
  w.contents["out"] = words(random, bins);
  return w;
}

// Larger than the caches, so that stores pass them.
Written large(Random& random) {
  Written w;
  constexpr std::uint32_t kWords = 1 << 21;
  const std::uint32_t shift = pick<std::uint32_t>(random, {0, 0, 16, 5});
  const std::uint32_t parts = pick<std::uint32_t>(random, {1, 4, 8});
  std::ostringstream text;
  text << "program large workgroup(64) {\n  read a: u32[]\n  read_write out: u32[]\n"
       << "  let i = invocation_id.x\n  let v = a[i * " << parts << "]\n";
  for (std::uint32_t k = 0; k < parts; ++k) {
    text << "  out[i * " << parts << " + " << k + shift << "] = v + " << k << "\n";
  }
  text << "}\n";
  w.text = text.str();
  w.grid = {kWords / parts / 64, 1, 1};
  w.contents["a"] = words(random, kWords);
  w.contents["out"] = std::vector<std::uint32_t>(kWords - between(random, 0, 40));
  return w;
}

// Each of these gave other bytes once, or none; the last one where a check was taken out.
std::vector<Written> once_wrong(Random& random) {
  std::vector<Written> all;
  all.push_back({R"(
program records workgroup(64) {
  read a: u32[]
  read_write out: u32[]
  workgroup cells: u32[128]
  let lane = local_id.x
  let v = a[invocation_id.x]
  cells[lane] = v
  barrier
  cells[2 * lane] = v + 100
  cells[2 * lane + 1] = v + 200
  barrier
  out[invocation_id.x] = cells[lane]
}
)",
                 {2, 1, 1},
                 {{"a", words(random, 128)}, {"out", words(random, 128)}}});
  all.push_back({R"(
program sides workgroup(64) {
  read a: u32[]
  uniform n: u32[1]
  read_write out: u32[]
  workgroup cells: u32[64]
  let lane = local_id.x
  let v = a[invocation_id.x]
  if n[0] > 3 {
    cells[lane] = v
  } else {
    cells[lane] = v * 3
    out[invocation_id.x] = 4
  }
  barrier
  out[invocation_id.x] = cells[lane] + out[invocation_id.x]
}
)",
                 {2, 1, 1},
                 {{"a", words(random, 128)}, {"n", {3}}, {"out", words(random, 128)}}});
  all.push_back({R"(
program bins workgroup(64) {
  read data: u32[]
  read_write hist: u32[256]
  let i = workgroup_id.x * 64 + local_id.x
  atomic_add(hist[data[i] & 0xff], 1)
}
)",
                 {40, 1, 1},
                 {{"data", words(random, 100)}, {"hist", words(random, 256)}}});
  all.push_back({R"(
program stores workgroup(64, 4) {
  read a: u32[]
  uniform size: u32[3]
  read_write out1: u32[]
  read_write out2: u32[]
  let x = invocation_id.x
  let y = invocation_id.y
  let c = size[0]
  if x < c && y < size[1] {
    let v = a[y * c + x] + a[(y + 1) * c + x] + a[(y - 1) * c + x]
    out1[y * c + x] = v
    if size[2] > 5 {
      out2[y * c + x] = v * 3
    }
  }
}
)",
                 {4, 4, 1},
                 {{"a", words(random, 4096)},
                  {"size", {256, 16, 3}},
                  {"out1", words(random, 4096)},
                  {"out2", words(random, 4096)}}});
  all.push_back({R"(
program both workgroup(64) {
  read a: u32[]
  uniform n: u32[1]
  read_write out: u32[]
  let i = invocation_id.x
  let x = a[i]
  for k in 0..n[0] { x = x * 3 + a[x & 7] }
  if a[i + 1] & 1 == 1 {
    for k in 0..n[0] { x = x * 5 + a[x & 3] }
    out[i] = x
  } else {
    for k in 0..n[0] { x = x * 7 + a[x & 1] }
    out[i] = x
  }
}
)",
                 {2, 1, 1},
                 {{"a", words(random, 200)}, {"n", {3}}, {"out", words(random, 128)}}});
  all.push_back({R"(
program behind workgroup(64) {
  read data: u32[]
  read other: u32[]
  read_write hist: u32[256]
  read_write out: u32[]
  workgroup cells: u32[64]
  let i = invocation_id.x
  let v = data[i]
  cells[local_id.x ^ 1] = v
  barrier
  let w = other[i]
  out[i] = w + cells[local_id.x]
  for k in 0..w & 3 { out[i] = out[i] + k }
  atomic_add(hist[v & 0xff], 1)
}
)",
                 {40, 1, 1},
                 {{"data", words(random, 100)},
                  {"other", words(random, 2560)},
                  {"hist", words(random, 256)},
                  {"out", words(random, 2560)}}});
  all.push_back({R"(
program leaves workgroup(64) {
  read a: u32[]
  read_write out: u32[]
  workgroup cells: u32[64]
  let lane = local_id.x
  let v = a[invocation_id.x]
  cells[lane] = v
  barrier
  let w = cells[lane ^ 1]
  barrier
  cells[lane] = w
  if lane < 8 {
    if v & 1 == 1 {
      return
    }
    cells[lane] = w + 7
  }
  out[invocation_id.x] = cells[lane]
}
)",
                 {2, 1, 1},
                 {{"a", words(random, 128)}, {"out", words(random, 128)}}});
  all.push_back({R"(
program below workgroup(64) {
  read a: u32[]
  read_write out: u32[]
  workgroup cells: u32[64]
  let i = workgroup_id.x * 64 + local_id.x
  let lane = local_id.x
  let t = 0
  cells[lane] = i
  if lane < 64 {
    t = t + cells[lane - 64]
  }
  barrier
  cells[lane] = t
  out[i] = a[i] * 3 + cells[lane - 33] + t * 5
}
)",
                 {2, 1, 1},
                 {{"a", words(random, 128)}, {"out", words(random, 128)}}});
  all.push_back({R"(
program wraps workgroup(16) {
  read a: u32[]
  uniform n: u32[1]
  read_write out: u32[]
  read_write h: u32[256]
  let x = invocation_id.x
  let i = invocation_id.y * 32 + x
  let j = x + n[0]
  let s = a[i]
  atomic_add(h[a[j] >> 24], s)
  out[i] = s
}
)",
                 {2, 3, 1},
                 {{"a", words(random, 87)},
                  {"n", {4294967295}},
                  {"out", words(random, 96)},
                  {"h", words(random, 256)}}});
  all.push_back({R"(
program left workgroup(2) {
  read_write out: u32[]

  for k in 0..1 {
    if local_id.x {
      break
    }
    return
  }
  out[local_id.x] = 0
}
)",
                 {1, 1, 1},
                 {{"out", {7, 8}}}});
  // What lies behind a row that was copied is not where the row is from.
  all.push_back({R"(
program behind workgroup(16) {
  read a: u32[]
  read_write out: u32[]
  workgroup tile: u32[64]

  tile[local_id.x] = a[invocation_id.x]
  barrier
  out[invocation_id.x] = tile[3] + tile[20] * 5 + tile[local_id.x] * 7
}
)",
                 {8, 1, 1},
                 {{"a", words(random, 128)}, {"out", words(random, 128)}}});
  // LLVM finds out late that the count of the last rotation is 0.
  all.push_back({R"(
program turns workgroup(1, 2) {
  read_write out: i32[]
  read       a: u64[]
  workgroup  w: u32[1]

  let x = mul_high(vec2u32(bool(vec4u32(u128(a[0])) ^ vec4u32(0, 64, 0, 0))), vec2u32(invocation_id.y))
  let some = i32(x) > -1i32
  let low = vec4u32(some, some, 0, 0) ^ vec4u32(0xfffffffc, 0xffffffff, 0xffffffff, 0xffffffff)
  let n = min(vec4u32(min(i32(low), i32(x))), vec4u32(0xb49ee19c, 0x98c7d4ea, 0x10d8595a, 0x4c3e8887))
  let turned = rotl(vec4u32(0, 64, 0, 0), n)
  out[invocation_id.y] = i32(bool(u32(u128(rotl(turned, turned)) >> 32) & 1))
}
)",
                 {1, 1, 1},
                 {{"out", {7}}, {"a", {}}}});
  // A count that is 0 in one lane.
  all.push_back({R"(
program turns_by_lane workgroup(2) {
  read_write out: vec2u32[]
  uniform    a: bool[]
  workgroup  w: u32[1]

  let x = reverse_bits(u128(a[0]))
  out[local_id.x] = vec2u32(x < rotl(x, local_id.x))
}
)",
                 {1, 1, 1},
                 {{"out", {7, 7, 7, 7}}, {"a", {1}}}});
  return all;
}

TEST_F(CpuShapes, ProgramsThatOnceWereWrong) {
  Random random(1);
  for (std::string_view name : cpu_targets()) {
    if (!runs_here(name)) continue;
    setenv("VYRE_CPU", std::string(name).c_str(), 1);
    SCOPED_TRACE(name);
    for (const Written& written : once_wrong(random)) check(written);
  }
}
// An element of an array is where another load is from, in what the whole workgroup looks at.
Written element_as_index(std::string_view of, std::string_view use, std::uint32_t invocations,
                         Random& random) {
  const auto replace = [](std::string text, std::string_view name, std::string_view by) {
    for (std::size_t at; (at = text.find(name)) != std::string::npos;) {
      text.replace(at, name.size(), by);
    }
    return text;
  };
  Written w;
  const std::string text = R"(
const table = [3, 0, 5, 1, 2]
program elements workgroup(INVOCATIONS) {
  read       buffer: u32[]
  read_write out: u32[]
  let own: u32[4]
  let array: u32[3]
  let sum = 0
  own[buffer[1]] = buffer[4]
  array[buffer[2]] = buffer[3]
  USE
  out[invocation_id.x] = sum + local_id.x
}
)";
  const std::string found = std::string(of) + "[own[buffer[0]]]";
  w.text = replace(replace(text, "USE", use), "FOUND", found);
  w.text = replace(w.text, "INVOCATIONS", std::to_string(invocations));
  w.grid = {2, 1, 1};
  for (int i = 0; i < 6; ++i) w.contents["buffer"].push_back(between(random, 0, 5));
  if (!one_in(random, 4)) w.contents["buffer"][0] = w.contents["buffer"][1];
  w.contents["out"] = words(random, 2 * invocations);
  return w;
}

TEST_F(CpuShapes, ElementsOfArraysAsIndices) {
  constexpr std::string_view kUses[] = {
      "if FOUND > 1 { barrier sum = FOUND }",
      "if FOUND { sum = workgroup_add(local_id.x) } else { barrier }",
      "for k in 0..FOUND { barrier sum = sum + k }",
      "for k in FOUND..4 { let most = workgroup_max(k ^ local_id.x) sum = sum + most }",
      "let n = FOUND barrier if n { barrier sum = n }",
      "while sum < FOUND { barrier sum = sum + 1 }",
      "for k in 0..3 { own[buffer[k]] = k if FOUND == 0 { continue } barrier sum = sum + FOUND }",
      "if buffer[5] { let n = FOUND if n < 3 && table[own[n]] > 0 { barrier sum = n } }",
      "sum = workgroup_add(FOUND + local_id.x)",
      "sum = workgroup_broadcast(local_id.x * 3, FOUND)",
      "sum = workgroup_shuffle(local_id.x * 3, FOUND)",
  };
  const std::uint64_t some = is_long() ? 1 : 3 * every();
  Random random(1);
  for_each_kind([&](std::uint64_t, const std::string&) {
    for (std::uint32_t invocations : {1u, 7u, 33u, 64u, 100u, 129u, 130u}) {
      for (std::string_view use : kUses) {
        for (std::string_view of : {"buffer", "table", "array"}) {
          if (random.next() % some != 0) continue;
          check(element_as_index(of, use, invocations, random));
        }
      }
    }
  });
}
TEST_F(CpuShapes, RowsThatOverlap) { check_all(stencil, kCount); }
TEST_F(CpuShapes, Lookups) { check_all(lookups, kCount / 2); }
TEST_F(CpuShapes, Records) { check_all(records, kCount); }
TEST_F(CpuShapes, StretchesOfEachInvocation) { check_all(stretches, kCount); }
TEST_F(CpuShapes, RowsOfWorkgroupMemory) { check_all(barriers, kCount); }
TEST_F(CpuShapes, UpdatesThatCommute) { check_all(updates, kCount); }
TEST_F(CpuShapes, BuffersBeyondTheCaches) { check_all(large, cases(8, 400)); }

}  // namespace
}  // namespace vyre
