#include "tools/vyre/times.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/vyre/command.h"
#include "vyre/base/text.h"

namespace vyre {
namespace {

// The length of each bar as a part of the longest.
std::vector<double> lengths_of(std::span<const Bar> bars) {
  std::vector<double> lengths;
  if (bars.empty()) return lengths;
  const double fastest = std::ranges::min_element(bars, {}, &Bar::seconds)->seconds;
  for (const Bar& bar : bars) lengths.push_back(bar.seconds > 0 ? fastest / bar.seconds : 1);
  return lengths;
}

std::string xml_escape(std::string_view text) {
  return replaced(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace

double quantile(std::vector<double> numbers, double part) {
  std::ranges::sort(numbers);
  const double place = part * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, numbers.size() - 1);
  return std::lerp(numbers[below], numbers[above], place - static_cast<double>(below));
}

double spread_of(const std::vector<double>& numbers) {
  const double median = quantile(numbers, 0.5);
  return median > 0 ? (quantile(numbers, 0.75) - quantile(numbers, 0.25)) / median : 0;
}

std::string short_number(double number) {
  char text[64];
  if (number > 0 && number < 1e-3) {
    std::snprintf(text, sizeof text, "%.2e", number);
  } else {
    const int decimals = number <= 0 || number >= 100 ? 0 : number >= 10 ? 1 : number >= 1 ? 2 : 3;
    std::snprintf(text, sizeof text, "%.*f", decimals, number);
  }
  return text;
}

std::string time_text(double seconds) {
  if (seconds >= 1) return short_number(seconds) + " s";
  if (seconds >= 1e-3) return short_number(seconds * 1e3) + " ms";
  if (seconds >= 1e-6) return short_number(seconds * 1e6) + " us";
  return short_number(seconds * 1e9) + " ns";
}

std::string draw_bars(std::span<const Bar> bars, std::size_t columns, bool blocks) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::size_t names = 0;
  std::size_t taken = 0;
  for (const Bar& bar : bars) {
    names = std::max(names, bar.name.size());
    taken = std::max(taken, time_text(bar.seconds).size());
  }
  taken += names + 3;
  const auto room = static_cast<double>(columns > taken + 10 ? columns - taken : 10);
  std::string out;
  const std::vector<double> lengths = lengths_of(bars);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    out += bars[i].name + std::string(names + 2 - bars[i].name.size(), ' ');
    // However slow it is, there is something to see.
    const double steps = std::max(1.0, std::round(lengths[i] * room * (blocks ? 8 : 1)));
    const auto count = static_cast<std::size_t>(steps);
    if (blocks) {
      for (std::size_t k = 0; k < count / 8; ++k) out += "█";
      out += kEighths[count % 8];
    } else {
      out += std::string(count, '#');
    }
    out += " " + time_text(bars[i].seconds) + "\n";
  }
  return out;
}

std::string svg_bars(std::string_view title, std::string_view subtitle, std::span<const Bar> bars) {
  constexpr std::size_t kTop = 84;
  constexpr std::size_t kRow = 54;
  constexpr double kLongest = 672;
  std::string rows;
  const std::vector<double> lengths = lengths_of(bars);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const std::size_t y = kTop + kRow * i;
    char width[32];
    std::snprintf(width, sizeof width, "%.1f", std::max(1.0, lengths[i] * kLongest));
    rows += replaced(help_text("bar"),
                     {{"@Y@", std::to_string(y + 14)},
                      {"@TOP@", std::to_string(y + 22)},
                      {"@WIDTH@", width},
                      {"@TIME@", xml_escape(time_text(bars[i].seconds) + ", " + bars[i].rates)},
                      {"@NAME@", xml_escape(bars[i].name)},
                      {"@DEVICE@", xml_escape(shorten(bars[i].device, 40))}});
  }
  return replaced(help_text("bars"), {{"@HEIGHT@", std::to_string(kTop + kRow * bars.size() + 8)},
                                      {"@SUBTITLE@", xml_escape(subtitle)},
                                      {"@TITLE@", xml_escape(title)},
                                      {"@BARS@", rows}});
}

}  // namespace vyre
