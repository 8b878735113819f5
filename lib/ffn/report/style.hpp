// Colours, strokes and fonts of the charts: as CSS with light and dark colours for the page, and plain for files that stand alone.
// Source of the colours: Okabe & Ito 2008, "Color Universal Design"; of the dark ones #56B4E9 in place of #0072B2.
#pragma once

#include <string>
#include <vector>

namespace ffn::pictures {

struct NamedColor {
  const char *name, *light, *dark;
};

/// Every colour that the charts and the page use; light on #ffffff, dark on #121417.
const std::vector<NamedColor>& palette();

/// Rules for what is within an <svg>, with var(--name) for colours.
std::string chart_rules();
/// The same with the light colours in place: other programs than browsers know no variables.
std::string file_style();

/// Contrast of two colours "#rrggbb" by WCAG 2.
double contrast(const std::string& a, const std::string& b);

}  // namespace ffn::pictures
