#include "tools/vyre/times.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

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
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string svg_text(std::string_view attributes, std::size_t y, std::string_view text) {
  return "<text " + std::string(attributes) + " y=\"" + std::to_string(y) + "\">" +
         xml_escape(text) + "</text>\n";
}

std::string svg_rect(std::size_t y, double width, std::string_view colour) {
  char text[128];
  std::snprintf(text, sizeof text,
                "<rect x=\"24\" y=\"%zu\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>\n", y, width,
                std::string(colour).c_str());
  return text;
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
  const std::string height = std::to_string(kTop + kRow * bars.size() + 8);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"" + height +
                    "\" viewBox=\"0 0 720 " + height +
                    "\" font-family=\"sans-serif\" role=\"img\">\n<title>" + xml_escape(title) +
                    "</title>\n<rect width=\"720\" height=\"" + height + "\" fill=\"#ffffff\"/>\n" +
                    svg_text("x=\"24\" font-size=\"20\" fill=\"#1a1a1a\"", 36, title) +
                    svg_text("x=\"24\" font-size=\"13\" fill=\"#555555\"", 60, subtitle);
  const std::vector<double> lengths = lengths_of(bars);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const std::size_t y = kTop + kRow * i;
    out += svg_text("x=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#1a1a1a\"", y + 14,
                    bars[i].name);
    out +=
        svg_text("x=\"96\" font-size=\"13\" fill=\"#555555\"", y + 14, shorten(bars[i].device, 40));
    out += svg_text("x=\"696\" font-size=\"13\" fill=\"#1a1a1a\" text-anchor=\"end\"", y + 14,
                    time_text(bars[i].seconds) + ", " + bars[i].rates);
    out += svg_rect(y + 22, kLongest, "#eef1f5");
    out += svg_rect(y + 22, std::max(1.0, lengths[i] * kLongest), "#2563a8");
  }
  return out + "</svg>\n";
}

}  // namespace vyre
