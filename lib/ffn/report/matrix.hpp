// A matrix of numbers as shaded cells. Depends on report.
#pragma once

#include <string>
#include <vector>

#include "ffn/report/figure.hpp"

namespace ffn::pictures {

struct MatrixPicture {
  std::string title, description;          ///< for those who do not see it
  std::string row_label, column_label;     ///< what rows and columns are; empty: nothing is written
  std::vector<std::string> rows, columns;  ///< their names; none where there is no room or they have none
  std::size_t num_rows = 0, num_columns = 0;
  std::vector<double> values;  ///< (rows, columns); hatched where one is no number
  double peak = 0;             ///< the size that has the strongest shade; 0: the largest
  bool tall = false;           ///< cells as high as they are wide
};

/// Above 0 in blue, below in orange, the stronger the further from it; a bar below says how far. Where all cells have room for it, each has
/// its number in it; small ones of one row and shade that stand side by side are one shape.
std::string draw_matrix(const MatrixPicture& matrix, const Form& form, const std::string& style);

}  // namespace ffn::pictures
