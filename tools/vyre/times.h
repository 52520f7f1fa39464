// Times of runs: what is typical of them, how they are written, and bars that compare them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vyre {

// The number below which the given part of the numbers lies: 0.5 is the median. Between two of
// them it is in proportion. There is at least one number.
double quantile(std::vector<double> numbers, double part);

// From the first quartile to the third one, as a part of the median.
double spread_of(const std::vector<double>& numbers);

// About three digits, for tables: "1.23e-05", "0.012", "1.23", "12.3", "123", "1234".
std::string short_number(double number);

// "1.23 ms"
std::string time_text(double seconds);

struct Bar {
  std::string name;
  std::string device;
  double seconds = 0;
  std::string rates;
};

// A line for each bar, the fastest with the longest one. Made of `#`, or of Unicode's blocks.
std::string draw_bars(std::span<const Bar> bars, std::size_t columns, bool blocks);

// The same as an SVG file.
std::string svg_bars(std::string_view title, std::string_view subtitle, std::span<const Bar> bars);

}  // namespace vyre
