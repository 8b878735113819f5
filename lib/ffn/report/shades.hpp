// Shades of cells: levels of one hue either way of 0, as classes whose colours the style has, in the light and in the dark.
#pragma once

#include <string>

namespace ffn::pictures {

enum class Scheme { light, dark };

/// A colour as "#rrggbb", and whether text on it has to be white.
struct Shade {
  std::string color;
  bool white_text;
};

/// Levels either way.
constexpr int kShadeLevels = 20;
/// Blue towards kShadeLevels, orange towards its negative, and at 0 next to the ground: a strong shade is dark on white and bright on
/// black.
Shade shade_of(int level, Scheme scheme);

/// "p7" above 0, "n7" below: of a cell, of the <text> in it, or of a <b>.
std::string shade_class(int level);
/// What these classes look like.
std::string shade_rules(Scheme scheme);

}  // namespace ffn::pictures
