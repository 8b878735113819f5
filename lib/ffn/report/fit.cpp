#include "ffn/report/fit.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "ffn/base/utf8.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn {

int widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return static_cast<int>(widest);
}

namespace {

using Widths = std::vector<std::size_t>;

constexpr std::size_t kGap = 2;  // between columns

std::size_t total(const Widths& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (std::max<std::size_t>(1, widths.size()) - 1);
}

// Takes from the widest that can give until all of them fit; whoever asks has seen that they can.
Widths shrunk(Widths widths, std::size_t most, const Widths& least) {
  while (!widths.empty() && total(widths) > most) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
  }
  return widths;
}

Table with_columns(const Table& table, const std::vector<std::size_t>& chosen) {
  const auto pick = [&](const auto& all) {
    std::decay_t<decltype(all)> some;
    for (const std::size_t i : chosen) some.push_back(all[i]);
    return some;
  };
  Table out(pick(table.columns()));
  for (std::size_t i = 0; i < table.num_rows(); ++i) {
    out.add_row(pick(table.rows()[i]));
    if (table.is_highlighted(i)) out.highlight_last_row();
  }
  return out;
}

}  // namespace

bool keeps_words(const Table& table, int width) { return width <= 0 || total(table.least_widths()) <= static_cast<std::size_t>(width); }

std::string folded_or_split(const Table& table, std::size_t num_names, int width, bool color) {
  return keeps_words(table, width) ? folded(table, width, color) : split(table, num_names, width, color);
}

std::string folded(const Table& table, int width, bool color) {
  if (!keeps_words(table, width)) return stacked(table, width, color);
  return table.terminal_text(color,
                             width > 0 ? shrunk(table.widths(), static_cast<std::size_t>(width), table.least_widths()) : table.widths());
}

std::string split(const Table& table, std::size_t num_names, int width, bool color) {
  const Widths widths = table.widths();
  const auto most = static_cast<std::size_t>(std::max(0, width));
  if (width <= 0 || total(widths) <= most) return table.terminal_text(color);
  const auto names_end = static_cast<std::ptrdiff_t>(num_names);
  const Widths least = table.least_widths(), least_names(least.begin(), least.begin() + names_end);
  for (std::size_t i = num_names; i < least.size(); ++i) {
    if (total(least_names) + kGap + least[i] > most) return stacked(table, width, color);
  }
  const Widths names = shrunk({widths.begin(), widths.begin() + names_end}, std::max(most / 2, total(least_names)), least_names);
  std::string out;
  for (std::size_t next = num_names; next < widths.size();) {
    Widths part = names, part_least = least_names;
    std::vector<std::size_t> chosen(num_names);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    const auto has_room = [&] { return total(part) + kGap + widths[next] <= most; };
    do {
      part.push_back(widths[next]);
      part_least.push_back(least[next]);
      chosen.push_back(next++);
    } while (next < widths.size() && has_room());
    out += (out.empty() ? "" : "\n") + with_columns(table, chosen).terminal_text(color, shrunk(part, most, part_least));
  }
  return out;
}

std::string stacked(const Table& table, int width, bool color) {
  constexpr std::size_t kHanging = 2;
  const auto most = static_cast<std::size_t>(std::max(0, width));
  std::string out;
  for (std::size_t r = 0; r < table.num_rows(); ++r) {
    if (r > 0) out += "\n";
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      const std::string& cell = table.rows()[r][i];
      if (cell.empty()) continue;
      const std::string &header = table.columns()[i].header, name = header.empty() ? "" : header + ": ";
      const bool fits = width <= 0 || display_width(name + cell) <= most;
      const auto lines = in_pieces(name + cell, fits ? display_width(name + cell) : std::max(most, kHanging + 1) - kHanging);
      for (std::size_t k = 0; k < lines.size(); ++k)
        out += styled((k > 0 ? std::string(kHanging, ' ') : "") + lines[k], Style::bold, color && table.is_highlighted(r)) + "\n";
    }
  }
  return out;
}

Block block_of(std::vector<std::string> lines) {
  std::size_t width = 0;
  for (const auto& line : lines) width = std::max(width, display_width(line));
  return {std::move(lines), width};
}

std::vector<std::string> cut_at_blanks(const std::string& line, int width, int hanging) {
  std::vector<std::string> out;
  std::string rest = line;
  while (width > 0 && display_width(rest) > static_cast<std::size_t>(width)) {
    std::size_t at = 0, columns = 0, blank = std::string::npos;
    for (; at < rest.size() && columns <= static_cast<std::size_t>(width); ++at) {
      if ((static_cast<unsigned char>(rest[at]) & 0xC0) == 0x80) continue;
      ++columns;
      if (rest[at] == ' ' && rest.find_first_not_of(' ') < at) blank = at;
    }
    if (blank == std::string::npos) blank = rest.find(' ', rest.find_first_not_of(' '));  // behind a long word
    if (blank == std::string::npos) break;
    const auto last = rest.find_last_not_of(' ', blank), next = rest.find_first_not_of(' ', blank);
    out.push_back(rest.substr(0, last + 1));
    if (next == std::string::npos) return out;
    rest = std::string(static_cast<std::size_t>(hanging), ' ') + rest.substr(next);
  }
  out.push_back(rest);
  return out;
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

std::string indented(const std::string& text, int width, int hanging) {
  if (width <= 0) return text;
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto blanks = std::min(line.find_first_not_of(' '), line.size());
    const std::string first(blanks, ' '), next(blanks + static_cast<std::size_t>(hanging), ' ');
    std::istringstream words(line);
    std::string current = first;
    bool any = false;
    for (std::string word; words >> word; any = true) {
      if (any && display_width(current) + 1 + display_width(word) > static_cast<std::size_t>(width)) {
        out += current + "\n";
        current = next;
        any = false;
      }
      current += (any ? " " : "") + word;
    }
    out += (any ? current : "") + "\n";
  }
  return out;
}

}  // namespace ffn
