// `vyre bench`: what it makes of times, the shape of its results, and what it refuses. Nothing here
// depends on how long anything takes.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"
#include "tools/vyre/times.h"
#include "vyre/base/text.h"
#include "vyre/vyre.h"

namespace vyre {
namespace {

using nlohmann::json;

constexpr std::string_view kSquare =
    "program square workgroup(64) {\n  read data: u32[]\n  read_write out: u32[]\n"
    "  workgroup cells: u32[64]\n\n  let i = invocation_id.x\n  out[i] = data[i] * data[i]\n}\n";

CommandResult bench(std::vector<std::string_view> options, std::string_view program = kSquare) {
  std::vector<std::string_view> arguments = {"bench", "-", "--grid", "2"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_vyre(arguments, program);
}

CommandResult bench_square(std::vector<std::string_view> options) {
  options.insert(options.end(), {"--in", "data=iota:128", "--in", "out=zeros:128"});
  return bench(std::move(options));
}

// Whether all elements are closed in their order, and all else is text.
bool is_well_formed(std::string_view xml) {
  std::vector<std::string_view> open;
  std::size_t roots = 0;
  while (!xml.empty()) {
    if (xml[0] == '&') {
      if (!xml.starts_with("&amp;") && !xml.starts_with("&lt;") && !xml.starts_with("&gt;")) {
        return false;
      }
    }
    if (xml[0] != '<') {
      xml.remove_prefix(1);
      continue;
    }
    const std::size_t end = xml.find('>');
    if (end == xml.npos) return false;
    const std::string_view tag = xml.substr(1, end - 1);
    xml.remove_prefix(end + 1);
    if (std::ranges::count(tag, '"') % 2 != 0 || tag.find('<') != tag.npos) return false;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      if (open.empty()) ++roots;
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() && roots == 1;
}

TEST(Times, QuantilesAndSpread) {
  EXPECT_EQ(quantile({3}, 0.5), 3);
  EXPECT_EQ(quantile({4, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0), 1);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 1), 5);
  EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0.25), 2);
  EXPECT_EQ(quantile({1, 2, 3, 4}, 0.25), 1.75);
  EXPECT_EQ(spread_of({7}), 0);
  EXPECT_EQ(spread_of({4, 4, 4}), 0);
  EXPECT_EQ(spread_of({0, 0}), 0);
  EXPECT_EQ(spread_of({1, 2, 4, 6, 100}), 1);  // one that was disturbed does not count
}

TEST(Times, AreWrittenInAUnitThatFits) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(2.5e-9), "2.50 ns");
  EXPECT_EQ(time_text(12.34e-6), "12.3 us");
  EXPECT_EQ(time_text(0.5), "500 ms");
  EXPECT_EQ(time_text(1234), "1234 s");
  EXPECT_EQ(short_number(0.0123), "0.012");
  EXPECT_EQ(short_number(0.0000123), "1.23e-05");
}

TEST(Times, BarsFitTheirColumns) {
  const std::vector<Bar> bars = {
      {"cpu", "", 0.001, ""}, {"slow", "", 0.004, ""}, {"slowest", "", 1000, ""}};
  EXPECT_EQ(draw_bars(bars, 37, false),
            "cpu      #################### 1.00 ms\n"
            "slow     ##### 4.00 ms\n"
            "slowest  # 1000 s\n");
  EXPECT_EQ(draw_bars(std::vector<Bar>{{"a", "", 16, ""}, {"b", "", 25, ""}}, 20, true),
            "a  ██████████ 16.0 s\n"
            "b  ██████▍ 25.0 s\n");
  EXPECT_EQ(draw_bars(std::vector<Bar>{{"a", "", 0, ""}}, 0, false), "a  ########## 0 ns\n");
  EXPECT_EQ(draw_bars({}, 80, false), "");
}

TEST(Times, SvgEscapesTexts) {
  const std::string svg = svg_bars("a<b", "c&d", std::vector<Bar>{{"<e>", "f\n\xff", 1, "g"}});
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  for (const char* part : {"a&lt;b", "c&amp;d", "&lt;e&gt;", ">1.00 s, g<"}) {
    EXPECT_NE(svg.find(part), svg.npos) << part;
  }
  EXPECT_EQ(first_invalid_utf8(svg), svg.size());
}

TEST(Bench, JsonHasAllNumbers) {
  const CommandResult result = bench_square({"--runs", "4", "--json"});
  ASSERT_EQ(result.status, 0) << result.out;
  EXPECT_EQ(result.err, "");
  const json printed = json::parse(result.out);
  EXPECT_EQ(printed["program"], "square");
  EXPECT_EQ(printed["grid"], (json{2, 1, 1}));
  EXPECT_EQ(printed["invocations"], 128);
  EXPECT_EQ(printed["bytes"], 1024);
  std::set<std::string> names;
  for (const json& row : printed["results"]) {
    names.insert(row["backend"]);
    EXPECT_FALSE(row["device"].get<std::string>().empty());
    const auto seconds = row["seconds"].get<std::vector<double>>();
    EXPECT_EQ(seconds.size(), 4u);
    const double median = row["median"];
    EXPECT_NEAR(median, std::max(quantile(seconds, 0.5), 1e-9), median * 1e-6);
    EXPECT_NEAR(row["spread"], spread_of(seconds), 1e-6);
    EXPECT_NEAR(row["gigabytes_per_second"].get<double>() * median, 1024e-9, 1e-12);
    EXPECT_NEAR(row["giga_invocations_per_second"].get<double>() * median, 128e-9, 1e-12);
    EXPECT_NEAR(row["ratio"].get<double>() * printed["results"][0]["median"].get<double>() / median,
                1, 1e-6);
  }
  EXPECT_EQ(printed["results"][0]["backend"], default_backend().name);
  for (const Backend& backend : all_backends()) {
    EXPECT_EQ(names.contains(std::string(backend.name)), backend.open(0).device != nullptr);
    EXPECT_EQ(bench_square({"--backend", backend.name}).status,
              backend.open(0).device != nullptr ? 0 : 3)
        << backend.name;
  }
}

TEST(Bench, BackendsRunInTheOrderOfTheirNames) {
  const json printed =
      json::parse(bench_square({"--backend", "interp,all,interp", "--json", "--runs=1"}).out);
  EXPECT_EQ(printed["results"][0]["backend"], "interp");
  EXPECT_EQ(printed["results"][0]["ratio"], 1);
  const auto runs = [](const Backend& backend) { return backend.open(0).device != nullptr; };
  EXPECT_EQ(printed["results"].size(), std::ranges::count_if(all_backends(), runs));
  EXPECT_TRUE(printed["left_out"].empty());
}

TEST(Bench, TableAndBars) {
  const CommandResult result = bench_square({});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(
      result.out.find("square, grid 2,1,1: 128 invocations, 1024 bytes in buffers\n\nbackend "), 0u)
      << result.out;
  for (const Backend& backend : all_backends()) {
    const std::string name(backend.name);
    const bool listed = result.out.find("\n" + name + " ") != std::string::npos;
    EXPECT_EQ(listed, backend.open(0).device != nullptr) << result.out;
  }
  // A backend that has no device here is not worth a line.
  EXPECT_EQ(result.out.find("left out"), std::string::npos);
  EXPECT_NE(result.out.find(" #"), std::string::npos);
}

TEST(Bench, SvgHasABarForEachBackend) {
  const TempFolder folder;
  const std::string path = folder / "times.svg";
  EXPECT_EQ(bench_square({"--svg", path}).status, 0);
  const std::string svg = read_file(path);
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_NE(svg.find(">square, grid 2,1,1<"), svg.npos);
  for (const Backend& backend : all_backends()) {
    const bool drawn = svg.find(">" + std::string(backend.name) + "<") != svg.npos;
    EXPECT_EQ(drawn, backend.open(0).device != nullptr) << backend.name;
  }
  const CommandResult piped = bench_square({"--svg", "-"});
  EXPECT_TRUE(is_well_formed(piped.out));
  EXPECT_EQ(piped.err.find("square, grid 2,1,1: "), 0u);
}

TEST(Bench, UnwritablePicturesAreFoundBeforeTheRun) {
  for (const std::string_view path : {"", "/no/such/folder/times.svg", "/"}) {
    const CommandResult result = bench_square({"--svg", path});
    EXPECT_EQ(result.status, 3) << path;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err.find("error[I002]"), std::string::npos) << result.err;
  }
}

// Each invocation reads what its neighbour writes; one after the other they count up.
TEST(Bench, TimesOfDifferentResultsAreNotShown) {
  if (find_backend("cpu")->open(0).device == nullptr)
    GTEST_SKIP() << "the cpu backend cannot run here: " << find_backend("cpu")->open(0).reason;
  const CommandResult result = bench({"--backend", "cpu,interp", "--in", "out=zeros:129"},
                                     "program racy workgroup(64) {\n  read_write out: u32[]\n\n"
                                     "  let i = invocation_id.x\n  out[i + 1] = out[i] + 1\n}\n");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.find("error[R006]: cpu and interp differ: out["), 0u) << result.err;
}

}  // namespace
}  // namespace vyre
