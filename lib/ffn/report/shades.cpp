#include "ffn/report/shades.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ffn/report/style.hpp"

namespace ffn::pictures {

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

}  // namespace ffn::pictures
