#include "ffn/report/style.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ffn::report {

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

namespace {

using Color = std::array<double, 3>;

/// From the weakest to the strongest of both hues: luminance falls all the way in the light and rises all the way in the dark.
struct Ramps {
  Color ground, blue, orange;
};
constexpr Ramps kLight{{1, 1, 1}, {0.02, 0.24, 0.42}, {0.55, 0.22, 0}};
constexpr Ramps kDark{{0.102, 0.114, 0.129}, {0.45, 0.77, 1}, {1, 0.68, 0.3}};

// Straight in sRGB.
std::string blended(const Color& weak, const Color& strong, double share) {
  char text[8];
  std::array<unsigned, 3> c{};
  for (std::size_t i = 0; i < 3; ++i) c[i] = static_cast<unsigned>(std::lround(255 * (weak[i] + share * (strong[i] - weak[i]))));
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c[0], c[1], c[2]);
  return text;
}

}  // namespace

Shade shade_of(int level, Scheme scheme) {
  const auto& ramps = scheme == Scheme::light ? kLight : kDark;
  const auto color =
      blended(ramps.ground, level < 0 ? ramps.orange : ramps.blue, std::min(1.0, std::abs(level) / static_cast<double>(kShadeLevels)));
  return {color, contrast(color, "#ffffff") >= contrast(color, "#000000")};
}

std::string shade_class(int level) { return (level < 0 ? "n" : "p") + std::to_string(std::abs(level)); }

// Fills are of cells in pictures, backgrounds of text outside of them.
std::string shade_rules(Scheme scheme) {
  std::string fills;
  std::array<std::string, 2> of_text;  // on which it is black, on which white
  for (int level = -kShadeLevels; level <= kShadeLevels; ++level) {
    const auto shade = shade_of(level, scheme);
    const std::string name = "." + shade_class(level);
    fills += name + "{fill:" + shade.color + ";background:" + shade.color + "}";
    auto& list = of_text[shade.white_text ? 1 : 0];
    list += (list.empty() ? "" : ",") + std::string("text") + name + ",b" + name;
  }
  return fills + of_text[0] + "{fill:#000;color:#000}" + of_text[1] + "{fill:#fff;color:#fff}";
}

}  // namespace ffn::report
