#include <algorithm>

#include "ffn/report/answer_tables.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/document.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/interval_bar.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {

namespace {

constexpr int kMostPairBar = 25, kLeastPairBar = 9;

// Which side is which, in as many columns as there are.
std::string bar_header(const Comparison& c, int columns) {
  const std::string better = stats::to_string(stats::Verdict::better), worse = stats::to_string(stats::Verdict::worse);
  const std::string left = c.higher_is_better ? worse : better, right = c.higher_is_better ? better : worse;
  if (columns >= 16) return "← " + left + std::string(static_cast<std::size_t>(columns - 15), ' ') + right + " →";
  return columns >= 12 ? left + std::string(static_cast<std::size_t>(columns - 11), ' ') + right : "";
}

// Bars of all pairs on one axis, with 0 on it.
AnswerColumn bars(const Comparison& c, int columns) {
  const auto range = range_of_effects(c);
  double low = range.low, high = range.high;
  make_room_for_arrows(range, low, high);
  const IntervalAxis axis(low, high, columns, 0.0);
  return {Shows::other, bar_header(c, columns), Align::left, [axis](const AnswerRow& row) {
            const auto effect = row.pair ? effect_of(*row.pair) : std::nullopt;
            return effect ? axis.bar(*effect) : "";
          }};
}

// With a column of bars before the verdicts, in the room that the table leaves. Without room columns go, rows stay.
std::string short_table_text(const Comparison& c, int width, bool color) {
  AnswerTable table = short_table(c);
  const int left = width > 0 ? width - widest_line(table.plain(false).terminal_text(false)) - 2 : kMostPairBar;
  const auto is = [](Shows shows) { return [shows](const AnswerColumn& column) { return column.shows == shows; }; };
  if (has_pairs(c) && left >= kLeastPairBar)
    table.columns.insert(std::find_if(table.columns.begin(), table.columns.end(), is(Shows::verdict)),
                         bars(c, std::min(left, kMostPairBar)));
  AnswerTable cut = table;
  for (const auto shows : {Shows::seeds, Shows::difference, Shows::verdict}) {
    if (has_room(cut.plain(false), width)) break;
    cut.columns.erase(std::remove_if(cut.columns.begin(), cut.columns.end(), is(shows)), cut.columns.end());
  }
  return laid_out(has_room(cut.plain(false), width) ? cut.plain(false) : table.plain(), width, color);
}

std::string claim_line(const DocumentPart& part, int width, bool color) {
  std::string line = wrapped(part.text + "\n", width);
  const auto style = part.outcome == "holds" ? Style::green : part.outcome == "refuted" ? Style::red : Style::yellow;
  if (const auto at = line.rfind(": " + part.outcome); at != std::string::npos)
    line.replace(at + 2, part.outcome.size(), styled(part.outcome, style, color));
  return line;
}

}  // namespace

std::string export_terminal(const Comparison& c, const TerminalFormat& format) {
  using Kind = DocumentPart::Kind;
  std::string out;
  Kind before = Kind::text;
  for (const auto& part : document_of(c, format.details, format.explain)) {
    const bool is_table = part.kind == Kind::table || part.kind == Kind::short_table, has_caption = is_table && before == Kind::text;
    if (!out.empty() && !has_caption && part.kind != Kind::note && (part.kind != Kind::claim || before != Kind::claim)) out += "\n";
    before = part.kind;
    out += part.kind == Kind::short_table ? short_table_text(c, format.width, format.color)
           : part.kind == Kind::table     ? laid_out(part.table[0], format.width, format.color)
           : part.kind == Kind::claim     ? claim_line(part, format.width, format.color)
                                          : wrapped(part.text + "\n", format.width);
  }
  return out;
}

}  // namespace ffn
