#include "ffn/report/style.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "ffn/report/shades.hpp"

namespace ffn::pictures {

namespace {

std::array<double, 3> channels(const std::string& color) {
  std::array<double, 3> out{};
  for (std::size_t i = 0; i < 3; ++i) out[i] = static_cast<double>(std::strtol(color.substr(1 + 2 * i, 2).c_str(), nullptr, 16)) / 255;
  return out;
}

// WCAG 2.2, relative luminance.
double luminance(const std::string& color) {
  const auto rgb = channels(color);
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
}

}  // namespace

const std::vector<NamedColor>& palette() {
  static const std::vector<NamedColor> colors = {
      {"ground", "#ffffff", "#121417"},  {"text", "#1a1d21", "#e6e6e6"},    {"quiet", "#59616b", "#a3abb5"},
      {"axis", "#7a828c", "#8a929c"},    {"grid", "#e4e7ea", "#2a2e34"},    {"panel", "#f6f7f9", "#1a1d21"},
      {"series0", "#0072b2", "#56b4e9"}, {"series1", "#d55e00", "#d55e00"}, {"series2", "#009e73", "#009e73"},
      {"series3", "#cc79a7", "#cc79a7"}, {"series4", "#000000", "#e6e6e6"}, {"series5", "#8c6d1f", "#e0b252"},
      {"series6", "#6a5acd", "#a79cf2"}, {"series7", "#d6006c", "#ff5fa8"}, {"series8", "#5b8a00", "#a4d65e"},
      {"series9", "#8b1a1a", "#ff9b8f"}, {"link", "#0b5cad", "#7cb8f2"}};
  return colors;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
  return text;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace ffn::pictures
