#include <algorithm>

#include "ffn/report/answer_tables.hpp"
#include "ffn/report/export.hpp"

namespace ffn {

namespace {

// Escapes control characters of LaTeX, and writes signs that its usual fonts lack as maths.
std::string latex(const std::string& text) {
  // clang-format off
  static const std::pair<const char*, const char*> kSymbols[] = {
      {"−", "$-$"}, {"±", "$\\pm$"}, {"÷", "$\\div$"}, {"×", "$\\times$"}, {"∞", "$\\infty$"}, {"≥", "$\\geq$"}, {"≤", "$\\leq$"},
      {"·", "$\\cdot$"}, {"⁻", "$^{-}$"}, {"⁰", "$^{0}$"}, {"¹", "$^{1}$"}, {"²", "$^{2}$"}, {"³", "$^{3}$"}, {"⁴", "$^{4}$"},
      {"⁵", "$^{5}$"}, {"⁶", "$^{6}$"}, {"⁷", "$^{7}$"}, {"⁸", "$^{8}$"}, {"⁹", "$^{9}$"}, {"\\", "\\textbackslash{}"}, {"&", "\\&"},
      {"%", "\\%"}, {"$", "\\$"}, {"#", "\\#"}, {"_", "\\_"}, {"{", "\\{"}, {"}", "\\}"}, {"~", "\\textasciitilde{}"},
      {"^", "\\textasciicircum{}"}, {"<", "\\textless{}"}, {">", "\\textgreater{}"}};
  // clang-format on
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

std::string export_latex(const Comparison& c) {
  const auto table = short_table(c, /*seeds=*/true);
  const std::string& suggestive = c.history.qualification;
  std::string out = tabular("% made by ffn-train; \\usepackage{booktabs}; text in UTF-8\n% " + latex(table.caption) + "\n" +
                                (!suggestive.empty() ? "% " + latex(suggestive) + "\n"
                                 : c.scope.empty()   ? ""
                                                     : "% verdicts are sure " + latex(c.scope) + "\n"),
                            table.plain(), suggestive);
  for (const auto& more : more_tables(c)) out += tabular("\n% " + latex(more.caption) + "\n", more.plain());
  return out;
}

}  // namespace ffn
