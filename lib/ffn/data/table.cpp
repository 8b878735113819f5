#include "ffn/data/table.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "ffn/base/error.hpp"

namespace ffn {

namespace {

TaskShape shape_of_table(const DataTable& table) {
  const bool is_number = table.target.is_number();
  return {false, table.input_width(), 1, table.target.width(), is_number ? Target::vectors : Target::classes};
}

}  // namespace

TaskShape shape_of(const TableConfig& config) { return shape_of_table(*read_table(config)); }

TaskShape TrainedTable::shape() const { return shape_of_table(columns); }

TrainedTable trained_table(const std::map<std::string, std::string>& metadata) {
  try {
    const Json table = parse_json(metadata.at("table"));
    TrainedTable out;
    const auto read = [](const Json& column, Scale& scale) {
      if (!column.contains("values")) scale = {column.at("mean").get<double>(), column.at("deviation").get<double>()};
      return DataColumn{
          column.at("column").get<std::string>(), column.value("values", std::vector<std::string>()), {}, column.value("missing", false)};
    };
    for (const auto& column : table.at("inputs")) out.columns.inputs.push_back(read(column, out.inputs.emplace_back()));
    out.columns.target = read(table.at("output"), out.target);
    return out;
  } catch (const std::exception&) {
    throw CheckpointError("the weights describe no table; they are not from a table task");
  }
}

namespace {

// One row as the network reads it.
void write_inputs(const DataTable& table, const std::vector<Scale>& scales, std::size_t row, float* x) {
  for (std::size_t i = 0; i < table.inputs.size(); ++i) {
    const auto& column = table.inputs[i];
    if (column.is_number()) {
      const bool missing = column.cells[row] == kMissing;
      *x++ = missing ? 0.0f : static_cast<float>(scales[i].of(column.cells[row]));  // 0: the mean
      if (column.has_missing) *x++ = missing ? 1.0f : 0.0f;
    } else {
      x = std::fill_n(x, column.width(), 0.0f);
      x[static_cast<std::int64_t>(column.cells[row]) - column.width()] = 1;
    }
  }
}

}  // namespace

ExampleSet TrainedTable::examples(const TableConfig& config) const {
  const DataTable rows = read_rows_as(config, columns);
  ExampleSet out;
  const auto count = rows.inputs.at(0).cells.size(), width = static_cast<std::size_t>(columns.input_width());
  out.count = static_cast<std::int64_t>(count);
  out.vectors.resize(count * width);
  for (std::size_t row = 0; row < count; ++row) write_inputs(rows, inputs, row, out.vectors.data() + row * width);
  if (columns.target.is_number()) {
    for (const double cell : rows.target.cells) out.values.push_back(static_cast<float>(target.of(cell)));
  } else {
    for (const double cell : rows.target.cells) out.labels.push_back(cell == kMissing ? -1 : static_cast<std::int64_t>(cell));
  }
  return out;
}

TableTask::TableTask(const TableConfig& config, std::vector<DataSeeds> seeds)
    : Task(std::move(seeds)), config_(config), table_(read_table(config)) {
  constexpr double kRounding = 1e-6;  // 0.29 of 100 rows are 28.999999999999996
  const double fraction = config.validation_fraction.value_or(TableConfig::kDefaultFraction);
  held_out_ = config.is_drawn() ? static_cast<std::int64_t>(std::floor(static_cast<double>(table_->num_rows()) * fraction + kRounding))
                                : std::count(table_->held_out.begin(), table_->held_out.end(), 1);
  if (held_out_ == 0 || held_out_ > table_->num_rows() - 2)
    throw DataError(config.file + ": " + std::to_string(held_out_) + " of " + std::to_string(table_->num_rows()) +
                        " rows are held out for validation; one has to be, and two have to be left for training",
                    config.is_drawn() ? "change task.validation_fraction, or add rows" : "change the column " + config.split);
  const std::int64_t splits = config.split == "per_seed" ? num_runs() : 1;
  for (std::int64_t run = 0; run < splits; ++run)
    splits_.push_back(split_of(config.split == "per_seed" ? this->seeds(static_cast<std::size_t>(run)).train : 0));
}

TaskShape TableTask::shape() const { return shape_of_table(*table_); }

// Row indices, held-out rows first. Equal rows stay together: of a group that the fraction divides, the rest is left out.
std::vector<std::uint32_t> TableTask::drawn_rows(RandomStream& random) const {
  std::vector<std::uint32_t> rows(static_cast<std::size_t>(table_->num_rows())), place(rows.size());
  std::iota(rows.begin(), rows.end(), 0u);
  for (std::size_t i = 0; i < rows.size(); ++i)  // all, so that the first of those held out are a draw, too
    std::swap(rows[i], rows[i + random.below(static_cast<std::uint32_t>(rows.size() - i))]);
  for (std::size_t i = 0; i < rows.size(); ++i) place[rows[i]] = static_cast<std::uint32_t>(i);
  const auto& first = table_->first_alike;
  std::sort(rows.begin(), rows.end(), [&](auto a, auto b) { return std::pair(place[first[a]], a) < std::pair(place[first[b]], b); });
  const auto cut = rows.begin() + held_out_;
  rows.erase(cut, std::find_if(cut, rows.end(), [&](auto row) { return first[row] != first[cut[-1]]; }));
  return rows;
}

bool TableTask::can_train(const std::vector<std::uint32_t>& rows) const {
  const std::vector<std::uint32_t> training(rows.begin() + held_out_, rows.end());
  const auto counts = class_counts(training);
  return !training.empty() && std::find(counts.begin(), counts.end(), 0) == counts.end();
}

std::vector<double> TableTask::class_frequencies(std::size_t run) const {
  const auto& rows = split(run).rows;
  const auto counts = class_counts({rows.begin() + held_out_, rows.end()});
  std::vector<double> out;
  for (const auto count : counts) out.push_back(static_cast<double>(count) / static_cast<double>(rows.end() - rows.begin() - held_out_));
  return out;
}

// None of numbers.
std::vector<std::int64_t> TableTask::class_counts(const std::vector<std::uint32_t>& rows) const {
  std::vector<std::int64_t> counts(table_->target.values.size());
  if (!counts.empty()) {
    for (const auto row : rows) ++counts[static_cast<std::size_t>(table_->target.cells[row])];
  }
  return counts;
}

TableTask::Split TableTask::split_of(std::uint64_t seed) const {
  Split out;
  if (config_.is_drawn()) {
    RandomStream random(sub_seed(seed, "split"), 0);
    out.rows = drawn_rows(random);
    constexpr int kDraws = 100;
    for (int draw = 1; config_.split == "per_seed" && draw < kDraws && !can_train(out.rows); ++draw) out.rows = drawn_rows(random);
  } else {
    out.rows.resize(static_cast<std::size_t>(table_->num_rows()));
    std::iota(out.rows.begin(), out.rows.end(), 0u);
    std::stable_partition(out.rows.begin(), out.rows.end(), [&](std::uint32_t row) { return table_->held_out[row] != 0; });
  }
  const std::vector<std::uint32_t> training(out.rows.begin() + held_out_, out.rows.end());
  if (training.empty())
    throw DataError(config_.file + ": no training row is left: all that are not held out repeat one that is",
                    "change task.validation_fraction, or add rows");
  for (const auto& column : table_->inputs) out.inputs.push_back(scale_of(column, training));
  out.target = scale_of(table_->target, training);
  if (!table_->target.is_number()) out.constant_answer = static_cast<double>(most_frequent_class(training));
  return out;
}

// A category stays as it is, and so does what is the same in every row.
Scale TableTask::scale_of(const DataColumn& column, const std::vector<std::uint32_t>& training) const {
  Scale out;
  std::vector<std::uint32_t> rows;
  std::copy_if(training.begin(), training.end(), std::back_inserter(rows), [&](auto row) { return column.cells[row] != kMissing; });
  if (!column.is_number() || rows.empty()) return out;
  const auto count = static_cast<double>(rows.size());
  // From the first cell: exactly 0 for a constant, and precise for numbers that are far from 0, such as times.
  const double first = column.cells[rows[0]];
  double shift = 0, squares = 0;
  for (const auto row : rows) shift += (column.cells[row] - first) / count;
  for (const auto row : rows) squares += std::pow(column.cells[row] - first - shift, 2);
  out.mean = first + shift;
  if (squares > 0) out.deviation = std::sqrt(squares / count);
  return out;
}

// Throws where a class has none of these rows.
std::int64_t TableTask::most_frequent_class(const std::vector<std::uint32_t>& rows_to_train) const {
  const DataColumn& label = table_->target;
  const auto counts = class_counts(rows_to_train);
  const auto absent = static_cast<std::size_t>(std::find(counts.begin(), counts.end(), 0) - counts.begin());
  if (absent == counts.size()) return std::max_element(counts.begin(), counts.end()) - counts.begin();
  const auto rows = std::count(label.cells.begin(), label.cells.end(), static_cast<double>(absent));
  throw DataError(config_.file + ": task.label: the class " + label.values[absent] + " (" + std::to_string(rows) + " of " +
                      std::to_string(table_->num_rows()) + " rows) has no training row" +
                      (config_.split == "per_seed" ? " in 100 draws of a seed" : ""),
                  config_.is_drawn() ? "leave its rows out of the file, hold fewer rows out, or make task.split a column that says which"
                                     : "change the column " + config_.split);
}

void TableTask::write(const Split& split, std::uint32_t row, std::int64_t example, const BatchPlace& to) const {
  write_inputs(*table_, split.inputs, row, to.vectors + example * table_->input_width());
  if (table_->target.is_number()) to.values[example] = static_cast<float>(split.target.of(table_->target.cells[row]));
  else to.labels[example] = static_cast<std::int64_t>(table_->target.cells[row]);
}

void TableTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  RandomStream random(seeds(run).train, static_cast<std::uint64_t>(step));
  const auto training = static_cast<std::uint32_t>(split(run).rows.size() - static_cast<std::size_t>(held_out_));
  for (std::int64_t i = 0; i < batch_size; ++i)
    write(split(run), split(run).rows[static_cast<std::size_t>(held_out_ + random.below(training))], i, to);
}

ExampleSet TableTask::validation(std::int64_t max_examples) const {
  ExampleSet set = empty_set(std::min(held_out_, max_examples), /*shared=*/splits_.size() == 1);
  for (std::size_t run = 0; run < splits_.size(); ++run) {
    const auto to = place(set, static_cast<std::int64_t>(run));
    for (std::int64_t i = 0; i < set.count; ++i) write(split(run), split(run).rows[static_cast<std::size_t>(i)], i, to);
  }
  return set;
}

double TableTask::target_unit(std::size_t run) const { return split(run).target.deviation; }

std::map<std::string, std::string> TableTask::metadata(std::size_t run) const {
  const auto described = [](const DataColumn& column, const Scale& scale) {
    if (!column.is_number()) return Json{{"column", column.name}, {"values", column.values}};
    Json number{{"column", column.name}, {"mean", scale.mean}, {"deviation", scale.deviation}};
    if (column.has_missing) number["missing"] = true;
    return number;
  };
  Json inputs = Json::array();
  for (std::size_t i = 0; i < table_->inputs.size(); ++i) inputs.push_back(described(table_->inputs[i], split(run).inputs[i]));
  return {{"table", dump_json({{"inputs", inputs}, {"output", described(table_->target, split(run).target)}})}};
}

}  // namespace ffn
