// Axes, grid and labels around what a chart draws. Depends on the rest of ffn/pictures.
#pragma once

#include <string>
#include <vector>

#include "ffn/report/axis.hpp"
#include "ffn/report/figure.hpp"
#include "ffn/report/svg.hpp"

namespace ffn::pictures {

struct FrameText {
  std::string title, description;  ///< for those who do not see it
  std::string x_label, y_label;
};

struct FrameRoom {
  double height = 240;
  double right = 16;      ///< for labels at the ends of lines
  double above = 0;       ///< over the axes, for what has no value
  double below = 0;       ///< under the x label
  double least_left = 0;  ///< for labels of rows
  bool x_ticks = true, y_ticks = true;
};

/// A picture with its axes drawn; what is drawn next lies on top of the grid.
class Frame {
 public:
  Frame(const Form& form, const FrameText& text, Axis x, Axis y, const FrameRoom& room = {});

  Svg svg;
  Axis x, y;  ///< on pixels
  double left, right, top, bottom;

  /// What is drawn between these stays within the axes.
  void begin_clip();
  void end_clip();

 private:
  std::string clip_id_;
};

/// Labels at the ends of lines, moved apart where they would touch: y of each, in the given order.
std::vector<double> spread_labels(const std::vector<double>& wanted, double apart, double top, double bottom);

}  // namespace ffn::pictures
