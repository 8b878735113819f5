#include "ffn/data/table_summary.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "ffn/base/text.hpp"

namespace ffn {

std::string few_of(std::vector<std::string> names) {
  constexpr std::size_t kShown = 20;
  const std::size_t count = names.size();
  names.resize(std::min(count, kShown));
  return join(names) + (count > kShown ? " and " + std::to_string(count - kShown) + " more" : "");
}

std::vector<std::uint32_t> first_alike(const DataTable& table) {
  std::vector<const std::vector<double>*> columns{&table.target.cells};
  for (const auto& column : table.inputs) columns.push_back(&column.cells);
  const auto differing = [&](std::uint32_t a, std::uint32_t b) {
    return std::find_if(columns.begin(), columns.end(), [&](const auto* cells) { return (*cells)[a] != (*cells)[b]; });
  };
  std::vector<std::uint32_t> rows(table.target.cells.size()), out(rows.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto at = differing(a, b);
    return at == columns.end() ? a < b : (**at)[a] < (**at)[b];
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool repeats = i > 0 && differing(rows[i - 1], rows[i]) == columns.end();
    out[rows[i]] = repeats ? out[rows[i - 1]] : rows[i];
  }
  return out;
}

bool is_recoded(const std::vector<double>& column, const std::vector<double>& target) {
  std::map<double, double> forth, back;
  for (std::size_t row = 0; row < column.size(); ++row) {
    if (forth.emplace(column[row], target[row]).first->second != target[row]) return false;
    if (back.emplace(target[row], column[row]).first->second != column[row]) return false;
  }
  return true;
}

std::string describe_table(const DataTable& table, const TableConfig& config) {
  std::vector<std::string> numbers, categories;
  for (const auto& column : table.inputs) {
    const auto missing = std::count(column.cells.begin(), column.cells.end(), kMissing);
    if (column.is_number()) numbers.push_back(column.name + (missing > 0 ? " (" + std::to_string(missing) + " missing)" : ""));
    else categories.push_back(column.name + " (" + std::to_string(column.values.size()) + ")");
  }
  const auto& target = table.target;
  std::int64_t repeats = 0;
  for (std::size_t row = 0; row < table.first_alike.size(); ++row) repeats += table.first_alike[row] != row;
  return std::to_string(table.num_rows()) + " rows" + (numbers.empty() ? "" : "; numbers: " + few_of(numbers)) +
         (categories.empty() ? "" : "; categories: " + few_of(categories)) +
         (target.is_number() ? "; target: " + target.name : "; label: " + target.name + " (" + few_of(target.values) + ")") +
         (config.is_drawn() ? "" : "; split by " + config.split) +
         (table.columns_left_out.empty() ? "" : "; left out, without a name: " + few_of(table.columns_left_out)) +
         (table.rows_left_out == 0 ? ""
                                   : "; " + std::to_string(table.rows_left_out) + (table.rows_left_out == 1 ? " row" : " rows") +
                                         " with missing cells left out") +
         (repeats == 0 ? "" : "; " + std::to_string(repeats) + (repeats == 1 ? " row repeats" : " rows repeat") + " another one");
}

}  // namespace ffn
