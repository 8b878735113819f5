#include "ffn/data/table_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "ffn/base/number.hpp"

namespace ffn {

std::optional<double> number_in(const std::string& cell) {
  const char* first = cell.data() + (cell.size() > 1 && cell[0] == '+' && cell[1] != '-');  // which from_chars does not take
  double number = 0;
  const auto [end, error] = read_double(first, cell.data() + cell.size(), number);
  const bool is_number = error == std::errc() && end == cell.data() + cell.size() && std::isfinite(number);
  return is_number ? std::optional<double>(number) : std::nullopt;
}

bool has_comma_in_number(const std::string& cell) {
  std::string with_points = cell;
  std::replace(with_points.begin(), with_points.end(), ',', '0');
  return with_points != cell && cell.find_first_not_of("+-0123456789.,") == std::string::npos && number_in(with_points);
}

bool stands_for_gap(const std::string& cell) {
  static const std::set<std::string> words{"", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null", "None", "?"};
  return words.count(cell) > 0;
}

std::string notation_of(const std::string& cell) {
  static const std::vector<std::pair<const char*, const char*>> marks{{"%", "a percentage"},
                                                                      {"$", "an amount of money"},
                                                                      {"\u20AC", "an amount of money"},
                                                                      {"\u00A3", "an amount of money"},
                                                                      {"\u00A5", "an amount of money"},
                                                                      {"\u2212", "a number with another minus sign"},
                                                                      {"\u00A0", "a number with gaps"},
                                                                      {"\u202F", "a number with gaps"},
                                                                      {" ", "a number with gaps"},
                                                                      {"'", "a number with marks between digits"},
                                                                      {"_", "a number with marks between digits"},
                                                                      {",", "a number with commas"}};
  std::string rest = cell, what;
  for (const auto& [mark, name] : marks) {
    for (std::size_t at = 0; (at = rest.find(mark)) != std::string::npos; what = what.empty() ? name : what)
      rest.erase(at, std::strlen(mark));
  }
  if (!what.empty() && number_in(rest)) return what;
  unsigned first = 0, second = 0, third = 0;
  char mark[2], again[2];
  if (cell.empty() || cell[0] < '0' || cell[0] > '9') return "";
  if (std::sscanf(cell.c_str(), "%4u%1[-/.]%2u%1[-/.]%4u", &first, mark, &second, again, &third) == 5 && mark[0] == again[0] &&
      (mark[0] != '.' || first > 31 || third > 31))  // 1.2.3 is a version
    return "a date";
  return std::sscanf(cell.c_str(), "%2u:%2u", &first, &second) == 2 ? "a time" : "";
}

bool is_rounded(const std::string& cell, double number) {
  constexpr double kExact = 0x1p53;
  if (std::abs(number) < kExact || cell.find_first_not_of("+-0123456789") != std::string::npos) return false;
  char read[64];
  std::snprintf(read, sizeof read, "%.0f", number);
  return cell.substr(cell[0] == '+') != read;
}

}  // namespace ffn
