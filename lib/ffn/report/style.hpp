// Colours, strokes and fonts of pages as CSS, light and dark.
// Source of the colours: Okabe & Ito 2008, "Color Universal Design"; of the dark ones #56B4E9 in place of #0072B2.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ffn::pictures {

struct NamedColor {
  const char *name, *light, *dark;
};

/// Every colour that the charts and the page use; light on #ffffff, dark on #121417.
const std::vector<NamedColor>& palette();

/// charts.js, page.js, page.css, charts.css and stacked.css of this folder, which the build puts into the program: name → text.
const std::map<std::string, std::string>& assets();

std::string replaced(std::string text, const std::string& what, const std::string& with);

/// Contrast of two colours "#rrggbb" by WCAG 2.
double contrast(const std::string& a, const std::string& b);

}  // namespace ffn::pictures
