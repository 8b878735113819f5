#include "ffn/report/figure.hpp"

#include <cmath>

#include "ffn/report/format.hpp"
#include "ffn/report/style.hpp"
#include "ffn/report/svg.hpp"

namespace ffn::pictures {

Cell number_cell(const std::optional<double>& value, const std::string& absent) {
  if (!value) return {absent};
  if (std::isinf(*value)) return {"never", *value};
  return {format_significant(*value, 4), *value};
}

Cell count_cell(double value) { return {format_rounded(value), value}; }

std::vector<File> svg_files(const Figure& figure) {
  std::vector<File> files;
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const auto& panel = figure.panels[i];
    // Titles of panels may be the same once they are cut down to what a file may be called.
    std::string name = figure.id;
    if (figure.panels.size() > 1) name += "-" + std::to_string(i + 1) + (panel.title.empty() ? "" : "-" + slug(panel.title).substr(0, 60));
    Form form{figure.wide ? 520 : Form::kNarrow, figure.log_x, figure.log_y, name, panel.title, figure.beside};
    if (!figure.names_lines || !form.is_wide()) form.legend = figure.legend;
    files.push_back({name + ".svg", "<!-- " + std::string(kFileMark) + " -->\n" + panel.draw(form, file_style())});
  }
  return files;
}

}  // namespace ffn::pictures
