#include <algorithm>

#include "ffn/report/exporter.hpp"
#include "ffn/report/more_comparisons.hpp"
#include "ffn/report/short_table.hpp"

namespace ffn {

namespace {

// Escapes control characters of LaTeX, and writes signs that its usual fonts lack as maths.
std::string latex(const std::string& text) {
  static const std::pair<const char*, const char*> kSymbols[] = {{"−", "$-$"},
                                                                 {"±", "$\\pm$"},
                                                                 {"÷", "$\\div$"},
                                                                 {"×", "$\\times$"},
                                                                 {"∞", "$\\infty$"},
                                                                 {"≥", "$\\geq$"},
                                                                 {"≤", "$\\leq$"},
                                                                 {"·", "$\\cdot$"},
                                                                 {"⁻", "$^{-}$"},
                                                                 {"⁰", "$^{0}$"},
                                                                 {"¹", "$^{1}$"},
                                                                 {"²", "$^{2}$"},
                                                                 {"³", "$^{3}$"},
                                                                 {"⁴", "$^{4}$"},
                                                                 {"⁵", "$^{5}$"},
                                                                 {"⁶", "$^{6}$"},
                                                                 {"⁷", "$^{7}$"},
                                                                 {"⁸", "$^{8}$"},
                                                                 {"⁹", "$^{9}$"},
                                                                 {"\\", "\\textbackslash{}"},
                                                                 {"&", "\\&"},
                                                                 {"%", "\\%"},
                                                                 {"$", "\\$"},
                                                                 {"#", "\\#"},
                                                                 {"_", "\\_"},
                                                                 {"{", "\\{"},
                                                                 {"}", "\\}"},
                                                                 {"~", "\\textasciitilde{}"},
                                                                 {"^", "\\textasciicircum{}"},
                                                                 {"<", "\\textless{}"},
                                                                 {">", "\\textgreater{}"}};
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto symbol = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                                     [&](const auto& s) { return text.compare(i, std::string(s.first).size(), s.first) == 0; });
    if (symbol == std::end(kSymbols)) {
      out += static_cast<unsigned char>(text[i]) < 0x20 ? ' ' : text[i];
      ++i;
    } else {
      out += symbol->second;
      i += std::string(symbol->first).size();
    }
  }
  return out;
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) out += (i > 0 ? " & " : "") + latex(cells[i]);
  return out + " \\\\\n";
}

// `below` is a line over all columns.
std::string tabular(const std::string& comment, const Table& table, const std::string& below = "") {
  std::string aligned;
  std::vector<std::string> headers;
  for (const auto& [header, align] : table.columns()) {
    aligned += align == Align::left ? 'l' : 'r';
    headers.push_back(header);
  }
  std::string out = comment + "\\begin{tabular}{" + aligned + "}\n\\toprule\n" + row_of(headers) + "\\midrule\n";
  // An opening bracket behind \\ would be its argument: no first cell has one.
  for (const auto& row : table.rows()) out += row_of(row);
  if (!below.empty()) out += "\\midrule\n\\multicolumn{" + std::to_string(headers.size()) + "}{l}{" + latex(below) + "} \\\\\n";
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::string LatexExporter::write(const Comparison& c) const {
  const ShortTable table(c);
  std::string out = "% made by ffn-train; \\usepackage{booktabs}; text in UTF-8\n% " + latex(table.caption) + "\n" +
                    (c.history.qualification.empty() ? "" : "% " + latex(c.history.qualification) + "\n") +
                    (c.scope.empty() || !c.history.qualification.empty() ? "" : "% verdicts are sure " + latex(c.scope) + "\n");
  out = tabular(out, table.plain(/*repeats=*/true, /*seeds=*/true), c.history.qualification);
  for (const auto& more : {further_pairs_table(c), contrasts_table(c)}) {
    if (more) out += tabular("\n% " + latex(more->caption) + "\n", more->table);
  }
  return out;
}

}  // namespace ffn
