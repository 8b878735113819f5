// Colours, strokes and fonts of pages as CSS, light and dark.
// Source of the colours: Okabe & Ito 2008, "Color Universal Design"; of the dark ones #56B4E9 in place of #0072B2.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ffn::report {

struct NamedColor {
  const char *name, *light, *dark;
};

/// Every colour that the charts and the page use; light on #ffffff, dark on #121417.
const std::vector<NamedColor>& palette();

/// Scripts and style sheets of this folder, which the build puts into the program: name → text.
const std::map<std::string, std::string>& assets();

std::string replaced(std::string text, const std::string& what, const std::string& with);

/// Contrast of two colours "#rrggbb" by WCAG 2.
double contrast(const std::string& a, const std::string& b);

// Shades of cells: levels of one hue either way of 0, as classes whose colours the style has, in the light and in the dark.

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
/// The look of these classes.
std::string shade_rules(Scheme scheme);

}  // namespace ffn::report
