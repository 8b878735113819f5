// What every chart hands to the page and to files: panels that can be drawn at several widths and scales, a legend, and the numbers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ffn::pictures {

struct LegendEntry {
  std::size_t series;
  std::string name;
};

/// How a panel is drawn this time.
struct Form {
  double width = kNarrow;
  bool log_x = false, log_y = false;
  std::string id;                        ///< of the element, unlike every other
  std::string title{}, beside{};         ///< above it, where no page says them: the panel's, and what is written beside marks
  std::vector<LegendEntry> legend = {};  ///< likewise

  static constexpr double kNarrow = 348;  ///< fits a window of 400
  static constexpr double kWide = 720;
  bool is_wide() const { return width > 500; }
};

struct Panel {
  std::string title;                                                            ///< "expansion 4"; empty for one alone
  std::function<std::string(const Form& form, const std::string& style)> draw;  ///< an <svg>; the style goes into a file that stands alone
};

/// As text for people, and in full for programs where it is a number.
struct Cell {
  std::string text;
  std::optional<double> value = std::nullopt;
};

struct Numbers {
  std::vector<std::string> headers;
  std::vector<std::vector<Cell>> rows;
};

struct Figure {
  std::string id;       ///< "learning-curves-val-loss"
  std::string heading;  ///< "Learning curves: val/loss"
  std::string reading;  ///< how to read it, in a line
  std::vector<LegendEntry> legend;
  std::vector<Panel> panels;
  Numbers numbers;
  std::vector<std::string> notes;
  bool x_switch = false, y_switch = false;  ///< axes that can be logarithmic as well
  bool log_x = false, log_y = false;        ///< how it is shown at first
  bool wide = true;                         ///< one panel alone is drawn wide where there is room
  bool names_lines = false;                 ///< in wide panels: they need no legend of their own
  std::string beside;                       ///< what is written beside marks: "beside the marks: expansion"; empty: nothing is
};

/// "0.31", or what a person is told of a number that is not finite.
Cell number_cell(const std::optional<double>& value, const std::string& absent = "-");
Cell count_cell(double value);

/// What the first line of every file of ours says, in a comment.
inline constexpr const char* kFileMark = "made by ffn-train";

/// Every panel as a file of its own: name without folder, and content.
struct File {
  std::string name, content;
};
std::vector<File> svg_files(const Figure& figure);

}  // namespace ffn::pictures
