#include "ffn/report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <utility>

#include "ffn/base/utf8.hpp"

namespace ffn::pictures {

namespace {

// Relative integers in tenths of a pixel.
std::string path_data(const std::vector<Point>& points) {
  std::string out;
  long x = 0, y = 0;
  bool drawing = false;
  for (const auto& point : points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) {
      drawing = false;
      continue;
    }
    const long next_x = std::lround(point.x * 10), next_y = std::lround(point.y * 10);
    const long dx = drawing ? next_x - x : next_x, dy = drawing ? next_y - y : next_y;
    if (drawing && dx == 0 && dy == 0) continue;
    out += drawing ? "l" : "M";
    out += std::to_string(dx) + (dy < 0 ? "" : " ") + std::to_string(dy);
    x = next_x;
    y = next_y;
    drawing = true;
  }
  return out;
}

std::string head_of(double width, double height, const std::string& id, const std::string& title, const std::string& description) {
  const std::string name = escaped(id);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" + px(width) + "\" height=\"" + px(height) + "\" viewBox=\"0 0 " +
         px(width) + " " + px(height) + "\" aria-labelledby=\"" + name + "-t " + name + "-d\"><title id=\"" + name + "-t\">" +
         escaped(title) + "</title><desc id=\"" + name + "-d\">" + escaped(description) + "</desc>";
}

}  // namespace

std::string escaped(const std::string& text) {
  constexpr std::pair<char, const char*> kEntities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string out;
  for (const char c : without_controls(text)) {
    const auto* entity = std::find_if(std::begin(kEntities), std::end(kEntities), [c](const auto& e) { return e.first == c; });
    out += entity == std::end(kEntities) ? std::string(1, c) : entity->second;
  }
  return out;
}

std::string slug(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (kept) out += c;
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string px(double x) {
  if (!std::isfinite(x)) return "0";
  const long tenths = std::lround(x * 10);
  std::string text = tenths < 0 ? "-" : "";
  const long size = std::labs(tenths);
  if (size >= 10 || size == 0) text += std::to_string(size / 10);
  return size % 10 == 0 ? text : text + "." + std::to_string(size % 10);
}

double text_width(const std::string& text, double font_size) { return 0.56 * font_size * static_cast<double>(display_width(text)); }

// In ems, DejaVu Sans.
double measured_width(const std::string& text, double font_size) {
  const auto of = [](std::uint32_t c) {
    if (c >= '0' && c <= '9') return 0.64;
    if (c == '%' || c == 'm' || c == 'W' || c == '@') return 0.97;
    if (c == 0x2212 || c == '+' || c == '=' || c == '<' || c == '>' || c == 0xB1 || c == 0xD7 || c == 0xF7 || c == 0x221E || c == 'w')
      return 0.84;
    if (c == 0xB7 || c == ' ' || c == '.' || c == ',' || c == 'i' || c == 'j' || c == 'l' || c == ':' || c == '|' || c == '/') return 0.34;
    if (c == '(' || c == ')' || c == '[' || c == ']' || c == 'f' || c == 't' || c == 'r' || c == '-') return 0.41;
    if (c == 0x207B || c == 0xB9 || c == 0xB2 || c == 0xB3 || (c >= 0x2070 && c <= 0x2079)) return 0.5;
    return c >= 'A' && c <= 'Z' ? 0.7 : 0.62;
  };
  double ems = 0;
  for (const auto c : decode_utf8(without_controls(text))) ems += of(c);
  return ems * font_size;
}

std::string fitted_text(const std::string& text, double width, double font_size) {
  const std::string clean = without_controls(text);
  if (text_width(clean, font_size) <= width) return clean;
  const auto columns = static_cast<std::size_t>(std::max(1.0, width / (0.56 * font_size) - 1));
  return clean.substr(0, fitting_prefix(clean, columns)) + "…";
}

Svg::Svg(double width, double height, const std::string& id, const std::string& title, const std::string& description) {
  head_ = head_of(width, height, id, title, description);
}

Svg::Svg(const Form& form, double height, const std::string& title, const std::string& description) {
  const double above = draw_heading(form);
  head_ = head_of(form.width, above + height, form.id, title, description);
  moved_ = above > 0;
  if (moved_) open("", "transform=\"translate(0 " + px(above) + ")\"");
}

double Svg::draw_heading(const Form& form) {
  constexpr double kLine = 18, kSwatch = 30, kBetween = 16;
  double x = 0, y = 0;
  if (!form.title.empty()) {
    text(0, 13, fitted_text(form.title, form.width), "b");
    y += kLine + 4;
  }
  for (const auto& entry : form.legend) {
    const std::string name = fitted_text(entry.name, form.width - kSwatch - 6);
    const double width = kSwatch + 6 + text_width(name);
    if (x > 0 && x + width > form.width) {
      x = 0;
      y += kLine;
    }
    open(series_class(entry.series));
    path({{x, y + 9}, {x + kSwatch, y + 9}}, "l");
    marker(marker_of(entry.series), x + kSwatch / 2, y + 9, 8);
    text(x + kSwatch + 6, y + 13, name);
    close();
    x += width + kBetween;
  }
  if (!form.legend.empty()) y += kLine + 6;
  if (!form.beside.empty()) {
    text(0, y + 13, fitted_text(form.beside, form.width), "q");
    y += kLine + 6;
  }
  return y;
}

void Svg::open(const std::string& classes, const std::string& attributes) {
  body_ += "<g" + (classes.empty() ? "" : " class=\"" + classes + "\"") + (attributes.empty() ? "" : " " + attributes) + ">";
}

void Svg::close() { body_ += "</g>"; }

void Svg::line(double x1, double y1, double x2, double y2, const std::string& classes) {
  body_ += "<path class=\"" + classes + "\" d=\"M" + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2) + "\"/>";
}

void Svg::rect(double x, double y, double width, double height, const std::string& classes, const std::string& attributes) {
  body_ += "<rect class=\"" + classes + "\" x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(std::max(0.0, width)) + "\" height=\"" +
           px(std::max(0.0, height)) + "\"" + (attributes.empty() ? "" : " " + attributes) + "/>";
}

void Svg::text(double x, double y, const std::string& text, const std::string& classes, Anchor anchor) {
  body_ += "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\"" + (classes.empty() ? "" : " class=\"" + classes + "\"") +
           (anchor == Anchor::middle ? " text-anchor=\"middle\""
            : anchor == Anchor::end  ? " text-anchor=\"end\""
                                     : "") +
           ">" + escaped(text) + "</text>";
}

void Svg::path(const std::vector<Point>& points, const std::string& classes, const std::string& attributes) {
  const std::string data = path_data(points);
  if (data.empty()) return;
  body_ +=
      "<path class=\"" + classes + "\" transform=\"scale(.1)\"" + (attributes.empty() ? "" : " " + attributes) + " d=\"" + data + "\"/>";
}

void Svg::polygon(const std::vector<Point>& points, const std::string& classes) {
  const std::string data = path_data(points);
  if (!data.empty()) body_ += "<path class=\"" + classes + "\" transform=\"scale(.1)\" d=\"" + data + "z\"/>";
}

void Svg::marker(std::size_t shape, double x, double y, double size, bool hollow, const std::string& tip) {
  const double r = size / 2;
  const std::string cls =
      std::string(" class=\"m") + (hollow ? " h" : "") + "\"" + (tip.empty() ? "" : " data-tip=\"" + escaped(tip) + "\"");
  switch (shape % 5) {
    case 0:
      body_ += "<circle" + cls + " cx=\"" + px(x) + "\" cy=\"" + px(y) + "\" r=\"" + px(r) + "\"/>";
      return;
    case 1:
      body_ += "<path" + cls + " d=\"M" + px(x - r) + " " + px(y - r) + "h" + px(2 * r) + "v" + px(2 * r) + "h" + px(-2 * r) + "z\"/>";
      return;
    case 2:
      body_ +=
          "<path" + cls + " d=\"M" + px(x) + " " + px(y - 1.2 * r) + "l" + px(1.2 * r) + " " + px(2.1 * r) + "h" + px(-2.4 * r) + "z\"/>";
      return;
    case 3:
      body_ += "<path" + cls + " d=\"M" + px(x) + " " + px(y - 1.3 * r) + "l" + px(1.3 * r) + " " + px(1.3 * r) + "l" + px(-1.3 * r) + " " +
               px(1.3 * r) + "l" + px(-1.3 * r) + " " + px(-1.3 * r) + "z\"/>";
      return;
    default: {
      const std::string cross = std::string(" class=\"m x\"") + (tip.empty() ? "" : " data-tip=\"" + escaped(tip) + "\"");
      body_ += "<path" + cross + " d=\"M" + px(x - r) + " " + px(y - r) + "l" + px(2 * r) + " " + px(2 * r) + "m0 " + px(-2 * r) + "l" +
               px(-2 * r) + " " + px(2 * r) + "\"/>";
    }
  }
}

std::string Svg::element(const std::string& style) const {
  return head_ + (style.empty() ? "" : "<style>" + style + "</style>") + body_ + (moved_ ? "</g>" : "") + "</svg>\n";
}

std::string series_class(std::size_t series) {
  return "s s" + std::to_string(series % 10) + " d" + std::to_string(series % 4) + " v" + std::to_string(series);
}

// Five colours and five shapes would repeat together.
std::size_t marker_of(std::size_t series) { return (series + series / 5) % 5; }

std::string clip_rect(const std::string& id, double x, double y, double width, double height) {
  return "<clipPath id=\"" + escaped(id) + "\"><rect x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(width) + "\" height=\"" +
         px(height) + "\"/></clipPath>";
}

}  // namespace ffn::pictures
