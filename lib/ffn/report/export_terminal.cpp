#include <algorithm>

#include "ffn/report/document.hpp"
#include "ffn/report/exporter.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/interval_bar.hpp"
#include "ffn/report/short_table.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {

namespace {

// One axis for all pairs, with 0 on it.
IntervalAxis axis_of_pairs(const Comparison& c, int columns) {
  const auto range = range_of_effects(c);
  double low = range.low, high = range.high;
  make_room_for_arrows(range, low, high);
  return {low, high, columns, 0.0};
}

constexpr int kMostPairBar = 25, kLeastPairBar = 9;

// Which side is which, in as many columns as there are.
std::string bar_header(const Comparison& c, int columns) {
  const std::string better = stats::to_string(stats::Verdict::better), worse = stats::to_string(stats::Verdict::worse);
  const std::string left = c.higher_is_better ? worse : better, right = c.higher_is_better ? better : worse;
  if (columns >= 16) return "← " + left + std::string(static_cast<std::size_t>(columns - 15), ' ') + right + " →";
  return columns >= 12 ? left + std::string(static_cast<std::size_t>(columns - 11), ' ') + right : "";
}

// The table with a column of bars before the verdicts, in the room that it leaves.
std::string short_table_text(const Comparison& c, int width, bool color) {
  const ShortTable shown(c);
  const Table plain = shown.plain(/*repeats=*/false, /*seeds=*/false);
  const int left = width > 0 ? width - widest_line(plain.terminal_text(false)) - 2 : kMostPairBar;
  if (!shown.has_pairs || left < kLeastPairBar) {
    Table table = plain;
    for (const std::string& header : {std::string("seeds"), shown.difference_header, std::string("verdict")}) {
      if (!fits(table, width)) table = table.without_column(header);
    }
    return fitted(fits(table, width) ? table : shown.plain(true, false), width, color);
  }
  const int bar = std::min(left, kMostPairBar);
  const auto axis = axis_of_pairs(c, bar);
  const auto at = static_cast<std::ptrdiff_t>(shown.key_headers.size() + 3 + !shown.hits_header.empty());
  auto columns = plain.columns();
  columns.insert(columns.begin() + at, {bar_header(c, bar), Align::left});
  Table table(columns);
  for (std::size_t r = 0; r < plain.num_rows(); ++r) {
    const auto effect = shown.rows[r].pair ? effect_of(*shown.rows[r].pair) : std::nullopt;
    auto cells = plain.rows()[r];
    cells.insert(cells.begin() + at, effect ? axis.bar(*effect) : "");
    table.add_row(cells);
    if (plain.is_highlighted(r)) table.highlight_last_row();
  }
  return fitted(table, width, color);
}

std::string claim_line(const DocumentPart& part, int width, bool color) {
  std::string line = wrapped(part.text + "\n", width);
  const auto style = part.outcome == "holds" ? Style::green : part.outcome == "refuted" ? Style::red : Style::yellow;
  if (const auto at = line.rfind(": " + part.outcome); at != std::string::npos)
    line.replace(at + 2, part.outcome.size(), styled(part.outcome, style, color));
  return line;
}

}  // namespace

std::string TerminalExporter::write(const Comparison& c) const {
  using Kind = DocumentPart::Kind;
  std::string out;
  Kind before = Kind::text;
  for (const auto& part : document_of(c, options_.details, options_.explain)) {
    const bool is_table = part.kind == Kind::table || part.kind == Kind::short_table, has_caption = is_table && before == Kind::text;
    if (!out.empty() && !has_caption && part.kind != Kind::note && (part.kind != Kind::claim || before != Kind::claim)) out += "\n";
    before = part.kind;
    out += part.kind == Kind::short_table ? short_table_text(c, options_.width, options_.color)
           : part.kind == Kind::table     ? fitted(part.table[0], options_.width, options_.color)
           : part.kind == Kind::claim     ? claim_line(part, options_.width, options_.color)
                                          : wrapped(part.text + "\n", options_.width);
  }
  return out;
}

}  // namespace ffn
