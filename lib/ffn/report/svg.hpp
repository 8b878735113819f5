// Writes SVG, and text that is safe in it and in HTML. Depends on core.
#pragma once

#include <string>
#include <vector>

#include "ffn/report/figure.hpp"

namespace ffn::pictures {

/// For content and quoted attributes of HTML and SVG, whatever the text: & < > " ' are named, what is no UTF-8, controls or reorders
/// what is read is '?'.
std::string escaped(const std::string& text);

/// Letters, digits and dashes alone, for ids and names of files: "val/loss" is "val-loss".
std::string slug(const std::string& text);

/// In pixels to a tenth: "12", ".5", "-3.2"; "0" for what is no number.
std::string px(double x);

/// How wide a text of this size is, about, in pixels: exact widths are the browser's to know.
double text_width(const std::string& text, double font_size = 12);
/// The same letter by letter, as wide as the widest of the usual system fonts has them: where texts must not touch, or a table has to fit.
double measured_width(const std::string& text, double font_size = 12);
/// The text, or as much of its beginning as fits and "…".
std::string fitted_text(const std::string& text, double width, double font_size = 12);

struct Point {
  double x, y;
};

enum class Anchor { start, middle, end };

/// One picture. Colours, strokes and fonts are the style's (style.hpp), by class.
class Svg {
 public:
  /// `id` is unlike every other on its page; title and description are for those who do not see it.
  Svg(double width, double height, const std::string& id, const std::string& title, const std::string& description);
  /// A panel's: in a file that stands alone its title and its legend come first, `height` below them.
  Svg(const Form& form, double height, const std::string& title, const std::string& description);

  void open(const std::string& classes, const std::string& attributes = "");
  void close();
  void line(double x1, double y1, double x2, double y2, const std::string& classes);
  void rect(double x, double y, double width, double height, const std::string& classes, const std::string& attributes = "");
  void text(double x, double y, const std::string& text, const std::string& classes = "", Anchor anchor = Anchor::start);
  /// Through all points; a gap where one is not finite. Tenths of pixels, relative to the one before: half as many bytes.
  void path(const std::vector<Point>& points, const std::string& classes, const std::string& attributes = "");
  void polygon(const std::vector<Point>& points, const std::string& classes);
  /// One of five shapes that differ without colour: ● ■ ▲ ◆ ✕, in the current colour. `tip` is what it stands for.
  void marker(std::size_t shape, double x, double y, double size, bool hollow = false, const std::string& tip = "");
  /// Anything else, as it is.
  void raw(const std::string& markup) { body_ += markup; }

  /// The whole element. With `style` it stands alone as a file: `style` goes into it.
  std::string element(const std::string& style = "") const;

 private:
  /// Title and legend from the top; returns where they end.
  double draw_heading(const Form& form);

  std::string head_, body_;
  bool moved_ = false;  // below a heading
};

/// In a class attribute: "s s3 d1", the series' colour and dashes.
std::string series_class(std::size_t series);
std::size_t marker_of(std::size_t series);

/// A clip path of this id, for curves that leave the axes.
std::string clip_rect(const std::string& id, double x, double y, double width, double height);

}  // namespace ffn::pictures
