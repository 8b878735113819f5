#include "ffn/report/layout.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "ffn/base/text.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {

int widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return static_cast<int>(widest);
}

std::vector<std::string> wrapped_lines(const std::string& line, int width, int hanging) {
  std::vector<std::string> out;
  const std::size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  std::string rest = line;
  for (std::size_t in = blanks; width > 0 && display_width(rest) > static_cast<std::size_t>(width);) {
    // A blank right behind what fits is a good place, too.
    std::size_t blank = rest.rfind(' ', prefix_within(rest, static_cast<std::size_t>(width)));
    if (blank == std::string::npos || blank < in) blank = rest.find(' ', in);  // behind a long word
    const std::size_t next = rest.find_first_not_of(' ', blank);
    if (next == std::string::npos) break;
    out.push_back(rest.substr(0, rest.find_last_not_of(' ', blank) + 1));
    in = blanks + static_cast<std::size_t>(hanging);
    rest = std::string(in, ' ') + rest.substr(next);
  }
  out.push_back(rest);
  return out;
}

std::string wrapped(const std::string& text, int width, int hanging) {
  if (width <= 0) return text;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const auto& piece : wrapped_lines(line, width, hanging)) out += piece + "\n";
  }
  return out;
}

namespace {

// Whether no line of the column is wider, words being whole.
bool gives_way(const Table& table, std::size_t column, std::size_t width) {
  const auto has_room = [&](const std::string& cell) {
    const auto lines = wrapped_lines(on_one_line(cell), static_cast<int>(width));
    return std::all_of(lines.begin(), lines.end(), [&](const std::string& line) { return display_width(line) <= width; });
  };
  return width > 0 && has_room(table.columns()[column].header) &&
         std::all_of(table.rows().begin(), table.rows().end(), [&](const auto& row) { return has_room(row[column]); });
}

// Column widths that have room together: one column of words gives way, the widest that can. Nothing where none can.
std::vector<std::size_t> widths_within(const Table& table, std::size_t most) {
  constexpr std::size_t kGap = 2;
  auto widths = table.widths();
  const std::size_t all = std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (widths.size() - 1);
  if (most == 0 || all <= most) return widths;
  std::size_t best = widths.size();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const bool is_wider = best == widths.size() || widths[i] >= widths[best];
    if (table.columns()[i].align == Align::left && is_wider && widths[i] + most > all && gives_way(table, i, widths[i] + most - all))
      best = i;
  }
  if (best == widths.size()) return {};
  widths[best] -= all - most;
  return widths;
}

std::string paragraphs(const Table& table, int width, bool color) {
  constexpr const char* kBlank = "\u00a0";  // within a cell no line is broken, unless it alone is wider
  std::string out;
  for (std::size_t r = 0; r < table.num_rows(); ++r) {
    std::string paragraph;
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      const std::string &cell = on_one_line(table.rows()[r][i]), &header = table.columns()[i].header;
      if (cell.empty()) continue;
      std::string text = (header.empty() ? "" : header + ": ") + cell;
      if (static_cast<int>(display_width(text)) + 2 <= width) {
        for (auto at = text.find(' '); at != std::string::npos; at = text.find(' ', at)) text.replace(at, 1, kBlank);
      }
      paragraph += (paragraph.empty() ? "" : "   ") + text;
    }
    for (auto line : wrapped_lines(paragraph, width, 2)) {
      for (auto at = line.find(kBlank); at != std::string::npos; at = line.find(kBlank, at)) line.replace(at, 2, " ");
      for (; width > 0 && display_width(line) > static_cast<std::size_t>(width);) {  // a word without blanks
        const auto end = prefix_within(line, static_cast<std::size_t>(width));
        out += line.substr(0, end) + "\n";
        line = "  " + line.substr(end);
      }
      out += styled(line, Style::bold, color && table.is_highlighted(r)) + "\n";
    }
  }
  return out;
}

std::size_t columns_of(int width) { return static_cast<std::size_t>(std::max(0, width)); }

}  // namespace

bool has_room(const Table& table, int width) { return !widths_within(table, columns_of(width)).empty(); }

std::string laid_out(const Table& table, int width, bool color) {
  const auto widths = widths_within(table, columns_of(width));
  return widths.empty() ? paragraphs(table, width, color) : table.terminal_text(color, widths);
}

std::string beside_each_other(const std::vector<Block>& blocks, int width) {
  constexpr std::size_t kBetween = 3;
  std::string out;
  for (std::size_t next = 0; next < blocks.size();) {
    std::vector<std::string> rows;
    std::size_t left = 0;
    const std::size_t first = next;
    do {
      const auto& block = blocks[next++];
      rows.resize(std::max(rows.size(), block.lines.size()), std::string(left, ' '));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string line = i < block.lines.size() ? block.lines[i] : "";
        rows[i] += line + std::string(block.width + kBetween - std::min(block.width, display_width(line)), ' ');
      }
      left += block.width + kBetween;
    } while (next < blocks.size() && left + blocks[next].width <= static_cast<std::size_t>(std::max(0, width)));
    if (first > 0) out += "\n";
    for (const auto& row : rows) out += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace ffn
