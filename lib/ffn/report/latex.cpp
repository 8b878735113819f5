// The short table for a paper.
#include <algorithm>

#include "ffn/report/cells.hpp"
#include "ffn/report/more_comparisons.hpp"
#include "ffn/report/page.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

// What LaTeX would obey, as what it prints; what its usual fonts lack, as maths.
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

std::string more_tabular(const CaptionedTable& more) {
  std::string aligned;
  std::vector<std::string> headers;
  for (const auto& [header, align] : more.table.columns()) {
    aligned += align == Align::left ? 'l' : 'r';
    headers.push_back(header);
  }
  std::string out = "\n% " + latex(more.caption) + "\n\\begin{tabular}{" + aligned + "}\n\\toprule\n" + row_of(headers) + "\\midrule\n";
  for (const auto& row : more.table.rows()) out += row_of(row);
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::string latex_table(const Comparison& c) {
  const NumberUnit unit(c);
  const bool pairs = has_pairs(c);
  std::vector<std::string> headers = group_headers(c);
  const std::size_t words = headers.size();
  headers.push_back(unit.header(metric_header(c.metric)));
  if (pairs) headers.insert(headers.end(), {difference_name(c), "verdict"});
  headers.push_back("seeds");
  std::string out = "% " + std::string(kFileMark) + "; \\usepackage{booktabs}; text in UTF-8\n% " + latex(short_caption(c)) +
                    (c.history.qualification.empty() ? "" : "\n% " + latex(c.history.qualification)) + "\n\\begin{tabular}{" +
                    std::string(words, 'l') + (pairs ? "rrl" : "r") + "r}\n\\toprule\n";
  for (std::size_t i = 0; i < headers.size(); ++i) out += (i > 0 ? " & " : "") + latex(headers[i]);
  out += " \\\\\n\\midrule\n";
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      std::string row;
      for (const auto& cell : group_cells(c, facet, group)) row += latex(cell.text) + " & ";
      row += latex(centre_text(c, group, unit.size()));
      if (pairs) {
        const auto pair = std::find_if(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& p) { return p.value == group.value; });
        // An opening bracket behind \\ would be its argument: here it never is the first.
        row += pair == facet.pairs.end() ? " &  & "
                                         : " & " + latex(difference_text(c, *pair, unit.size())) + " & " +
                                               latex(std::string(stats::to_string(pair->judgement.verdict)));
      }
      out += row + " & " + latex(seeds_text(group)) + " \\\\\n";
    }
  }
  if (!c.history.qualification.empty())
    out += "\\midrule\n\\multicolumn{" + std::to_string(headers.size()) + "}{l}{" + latex(c.history.qualification) + "} \\\\\n";
  out += "\\bottomrule\n\\end{tabular}\n";
  for (const auto& more : {further_pairs_table(c), contrasts_table(c)}) {
    if (more) out += more_tabular(*more);
  }
  return out;
}

}  // namespace ffn::pictures
