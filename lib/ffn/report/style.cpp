#include "ffn/report/style.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "ffn/report/shades.hpp"

namespace ffn::pictures {

namespace {

constexpr const char* kFont = "system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif";

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

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
  return text;
}

}  // namespace

const std::vector<NamedColor>& palette() {
  static const std::vector<NamedColor> colors = {
      {"ground", "#ffffff", "#121417"},  {"text", "#1a1d21", "#e6e6e6"},    {"quiet", "#59616b", "#a3abb5"},
      {"axis", "#7a828c", "#8a929c"},    {"grid", "#e4e7ea", "#2a2e34"},    {"panel", "#f6f7f9", "#1a1d21"},
      {"series0", "#0072b2", "#56b4e9"}, {"series1", "#d55e00", "#d55e00"}, {"series2", "#009e73", "#009e73"},
      {"series3", "#cc79a7", "#cc79a7"}, {"series4", "#000000", "#e6e6e6"}, {"link", "#0b5cad", "#7cb8f2"}};
  return colors;
}

// Paths of curves are in tenths of pixels (Svg::path), so their strokes are, too.
std::string chart_rules() {
  std::string rules =
      std::string("text{font:12px ") + kFont + ";fill:var(--text)}" +
      ".q{fill:var(--quiet)}.b{font-weight:600}.ax{stroke:var(--axis);fill:none}.gr{stroke:var(--grid);fill:none}"
      ".zero{stroke:var(--text);fill:none}.target{stroke:var(--quiet);stroke-dasharray:2 3;fill:none}.margin{fill:var(--grid)}"
      ".s{color:var(--text)}.gr{stroke-width:1}rect,text{stroke-width:0}.cells path{fill:none;stroke-width:1}.in{font-size:11px;text-anchor:middle;pointer-events:none}";
  for (int i = 0; i < 5; ++i) rules += ".s" + std::to_string(i) + "{color:var(--series" + std::to_string(i) + ")}";
  rules +=
      ".m{fill:currentColor;stroke:currentColor;stroke-width:1.2}.m.h{fill:var(--ground);stroke-width:1.6}.m.x{fill:none;stroke-width:1.8}"
      ".l{fill:none;stroke:currentColor;stroke-width:20;stroke-linejoin:round}.t{fill:none;stroke:currentColor;stroke-width:2}"
      ".seed{fill:none;stroke:currentColor;stroke-width:8;opacity:.22}.band{fill:currentColor;opacity:.14}"
      ".pair{fill:none;stroke:var(--axis);stroke-width:1;opacity:.45}.pair.up{stroke-dasharray:4 3}.dots{fill:none;stroke:currentColor;stroke-width:4;stroke-linecap:round;opacity:.55}.centre{fill:none;stroke:var(--text);stroke-width:2}"
      ".d1 .l,.l.d1{stroke-dasharray:70 35}.d2 .l,.l.d2{stroke-dasharray:25 25}.d3 .l,.l.d3{stroke-dasharray:90 30 25 30}"
      ".frag{stroke-dasharray:20 40!important}.best{fill:none;stroke:var(--text);stroke-width:3}.none{fill:url(#hatch)}"
      ".ring{fill:none;stroke:var(--text);stroke-width:1.6}.oncell{font-weight:600}.stairs{fill:none;stroke:var(--quiet);stroke-width:10;stroke-dasharray:40 30}";
  return rules;
}

std::string file_style() {
  std::string rules = chart_rules();
  for (const auto& color : palette()) rules = replaced(rules, "var(--" + std::string(color.name) + ")", color.light);
  return rules + shade_rules(Scheme::light) + "svg{background:#ffffff}";
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace ffn::pictures
