#include "ffn/formula/task_formula.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/formula/functions.hpp"

namespace ffn {

using Values = std::optional<std::int64_t>;  // how many whole numbers from 0 on a result may be

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostValues = 1 << 20, kMostColumns = 4096;

constexpr double one_if(bool holds) { return holds ? 1 : 0; }

bool is_column(double n, std::int64_t width) { return n >= 0 && n < static_cast<double>(width) && n == std::floor(n); }

// & | ^ are defined for whole numbers that a double has exactly.
template <class F>
double bitwise(double a, double b, const F& f) {
  const auto is_whole = [](double v) { return std::abs(v) < 0x1p53 && v == std::nearbyint(v); };
  return is_whole(a) && is_whole(b) ? static_cast<double>(f(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b))) : kNaN;
}

double nth_smallest(const double* columns, std::int64_t width, std::int64_t n) {
  if (std::any_of(columns, columns + width, [](double x) { return std::isnan(x); })) return kNaN;
  std::vector<double> sorted(columns, columns + width);
  std::nth_element(sorted.begin(), sorted.begin() + n, sorted.end());
  return sorted[static_cast<std::size_t>(n)];
}

double after_last(const double* columns, std::int64_t /*width*/, std::int64_t n) {
  for (std::int64_t i = n - 1; i >= 0; --i) {
    if (columns[i] == columns[n]) return columns[i + 1];
  }
  return kNaN;
}

const TaskFunction kOwn[] = {
    {TaskFunction::Kind::bitwise, "&", "and, bit by bit", [](double a, double b) { return bitwise(a, b, std::bit_and<>()); }},
    {TaskFunction::Kind::bitwise, "|", "or, bit by bit", [](double a, double b) { return bitwise(a, b, std::bit_or<>()); }},
    {TaskFunction::Kind::bitwise, "^", "exclusive or, bit by bit", [](double a, double b) { return bitwise(a, b, std::bit_xor<>()); }},
    {TaskFunction::Kind::negation, "!", "not: 1 of 0, else 0"},
    {TaskFunction::Kind::reduction, "sum", "sum over the columns", [](double a, double b) { return a + b; }, 0},
    {TaskFunction::Kind::reduction, "min", "of one value its smallest column",
     [](double a, double b) { return std::isnan(a) ? a : std::min(b, a); }, kInfinity},
    {TaskFunction::Kind::reduction, "max", "of one value its largest column",
     [](double a, double b) { return std::isnan(a) ? a : std::max(b, a); }, -kInfinity},
    {TaskFunction::Kind::reduction, "parity", "1 if an odd number of columns is not 0, else 0",
     [](double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : one_if((a != 0) != (b != 0)); }, 0},
    {TaskFunction::Kind::concat, "concat", "columns side by side"},
    {TaskFunction::Kind::pick, "nth_smallest", "the n-th smallest column of the first value, from 0", nullptr, 0, nth_smallest},
    {TaskFunction::Kind::pick, "after_last", "the column after the last one before column n that equals it: what followed then", nullptr, 0,
     after_last},
};

const TaskFunction kChoice{TaskFunction::Kind::choice, "[]", "one column"};

// min and max of one value go over its columns, of two values they are those of every formula.
const TaskFunction* find_own(const std::string& name, std::size_t operands) {
  for (const auto& row : kOwn) {
    if (row.name == name && (operands == 1 || !find_function(name))) return &row;
  }
  return nullptr;
}

Values capped(std::int64_t count) { return count <= kMostValues ? Values(count) : std::nullopt; }

// How many whole numbers from 0 on the result may be.
Values values_of(const std::string& name, const std::vector<Values>& of) {
  const auto both = [&](auto f) { return of[0] && of[1] ? capped(f(*of[0], *of[1])) : std::nullopt; };
  const auto largest = [&](std::size_t first) {
    Values most = 1;
    for (std::size_t i = first; i < of.size(); ++i) most = most && of[i] ? Values(std::max(*most, *of[i])) : std::nullopt;
    return most;
  };
  for (const char* truth : {"==", "!=", "<", "<=", ">", ">=", "!", "parity"}) {
    if (name == truth) return 2;
  }
  if (name == "+") return both([](std::int64_t a, std::int64_t b) { return a + b - 1; });
  if (name == "*") return both([](std::int64_t a, std::int64_t b) { return (a - 1) * (b - 1) + 1; });
  if (name == "&" || name == "|" || name == "^") {
    return both([](std::int64_t a, std::int64_t b) {
      std::int64_t power = 1;
      while (power < std::max(a, b)) power *= 2;
      return power;
    });
  }
  if (name == "min" || name == "max" || name == "concat") return largest(0);
  return name == "where" ? largest(1) : std::nullopt;
}

Symbol value_of_call(const Symbol* x, const void* function) { return static_cast<const ElementFunction*>(function)->value(x); }

}  // namespace

class TaskCompiler {
 public:
  TaskCompiler(const std::vector<FormulaInput>& inputs, std::vector<TaskFormula::Step>& steps) : inputs_(inputs), steps_(steps) {}

  // Its step. Throws a SyntaxProblem.
  std::size_t step(const Syntax& tree) {
    switch (tree.kind) {
      case Syntax::Kind::number:
        return number(tree.number);
      case Syntax::Kind::name:
        return name(tree);
      case Syntax::Kind::negate:
        return tree.text == "!" ? call(tree) : negative(tree);
      case Syntax::Kind::slice:
        return slice(tree);
      default:
        return call(tree);
    }
  }

 private:
  using Step = TaskFormula::Step;

  [[noreturn]] static void fail(const Syntax& tree, std::string message) { throw SyntaxProblem{tree.begin, tree.end, std::move(message)}; }

  std::size_t add(Step step) {
    steps_.push_back(std::move(step));
    return steps_.size() - 1;
  }

  // A value of numbers alone is a number: how far `%` reaches, and bounds, are known then.
  std::size_t folded(Step step) {
    const auto& of = step.operands;
    if (!step.element || !std::all_of(of.begin(), of.end(), [&](std::size_t i) { return steps_[i].is_number(); }))
      return add(std::move(step));
    std::vector<const double*> values;
    for (const std::size_t i : of) values.push_back(&steps_[i].number);
    double out = 0;
    run_in_double(*step.element, 1, values.data(), &out);
    return number(out);
  }

  std::size_t number(double x) {
    Step out;
    out.number = x;
    if (x >= 0 && x < static_cast<double>(kMostValues) && x == std::nearbyint(x)) out.values = static_cast<std::int64_t>(x) + 1;
    out.whole = x == std::nearbyint(x);
    return add(std::move(out));
  }

  std::size_t negative(const Syntax& tree) {
    Step out;
    out.operands = {number(-1), step(tree.parts[0])};
    out.element = elementwise("*");
    out.width = steps_[out.operands[1]].width;
    out.whole = steps_[out.operands[1]].whole;
    return folded(std::move(out));
  }

  std::size_t name(const Syntax& tree) {
    if (tree.text == "pi") return number(kPi);
    std::vector<std::string> known;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      known.push_back(inputs_[i].name);
      if (inputs_[i].name != tree.text) continue;
      if (inputs_[i].number) return number(*inputs_[i].number);
      Step out;
      out.input = i + 1;
      out.rows = inputs_[i].rows;
      out.width = out.stride = inputs_[i].width;
      out.values = inputs_[i].values;
      out.whole = out.values.has_value();
      return add(std::move(out));
    }
    known.emplace_back("pi");
    fail(tree, "nothing is called '" + tree.text + "'" + did_you_mean(tree.text, known) + "; known: " + join(known));
  }

  std::size_t slice(const Syntax& tree) {
    const Syntax& of = tree.parts[0];
    Step out = steps_[step(of)];
    if (out.input == 0) fail(of, "only an input has columns to choose from");
    steps_.pop_back();  // the chosen columns take its place
    if (out.rows > 1 && tree.is_index && out.width == out.stride) return chosen(std::move(out), tree.low[0]);
    const auto bound = [&](const std::vector<Syntax>& written, std::int64_t otherwise) {
      if (written.empty()) return otherwise;
      const Step& size = steps_[step(written[0])];
      if (!size.is_number() || !size.values) fail(written[0], "this bound is no whole number of columns");
      return *size.values - 1;
    };
    const std::int64_t low = bound(tree.low, 0), high = tree.is_index ? low + 1 : bound(tree.high, out.width);
    if (low >= high || high > out.width)
      fail(tree, "[" + std::to_string(low) + ":" + std::to_string(high) + "] of a value with " + std::to_string(out.width) + " columns");
    out.begin += low;
    out.width = high - low;
    return add(std::move(out));
  }

  std::size_t chosen(Step out, const Syntax& index) {
    out.own = &kChoice;
    out.operands = {step(index)};
    out.width = 1;
    if (steps_[out.operands[0]].width != 1)
      fail(index, "an index is one number, and this has " + std::to_string(steps_[out.operands[0]].width) + " columns");
    return add(std::move(out));
  }

  // One column of the first operand, by what the second says.
  std::size_t picked(Step out, const Syntax& tree) {
    if (tree.parts.size() != 2) fail(tree, tree.text + " takes 2 values, got " + std::to_string(tree.parts.size()));
    out.operands = {step(tree.parts[0]), step(tree.parts[1])};
    if (steps_[out.operands[1]].width != 1)
      fail(tree.parts[1], "n is one number, and this has " + std::to_string(steps_[out.operands[1]].width) + " columns");
    out.values = steps_[out.operands[0]].values;
    out.whole = steps_[out.operands[0]].whole;
    return add(std::move(out));
  }

  static std::shared_ptr<const Expression> elementwise(const std::string& name) {
    const ElementFunction* function = find_function(name);
    return std::make_shared<Expression>(record(value_of_call, function, static_cast<int>(function->operands)));
  }

  std::size_t call(const Syntax& tree) {
    const std::string& function = tree.text;
    Step out;
    out.own = find_own(function, tree.parts.size());
    if (!out.own) {
      checked_function(tree, "a task", {"sum", "parity", "concat", "nth_smallest", "after_last"});
      out.element = elementwise(function);
      out.strict = function == "where" ? 1 : tree.parts.size();
    }
    if (out.own && out.own->kind == TaskFunction::Kind::pick) return picked(std::move(out), tree);
    const bool joins = out.own && out.own->kind == TaskFunction::Kind::concat,
               reduces = out.own && out.own->kind == TaskFunction::Kind::reduction;
    if (joins ? tree.parts.empty() : reduces && tree.parts.size() != 1)
      fail(tree, function + (joins ? " takes one or more values, got 0" : " takes 1 value, got " + std::to_string(tree.parts.size())));
    for (const auto& part : tree.parts) out.operands.push_back(step(part));
    const auto operand = [&](std::size_t i) -> const Step& { return steps_[out.operands[i]]; };
    if (function == "^" && operand(1).is_number() && !operand(0).is_number() && operand(1).number != 0 && operand(1).number != 1)
      fail(tree, "'^' is exclusive or; a power is written pow(x, n), and an exclusive or with a number has the number first: n ^ x");
    std::vector<Values> values;
    out.width = joins ? 0 : 1;
    for (std::size_t i = 0; i < out.operands.size(); ++i) {
      const std::int64_t width = operand(i).width;
      values.push_back(operand(i).values);
      if (joins) out.width += width;
      if (joins || reduces) continue;
      if (width != 1 && out.width != 1 && width != out.width)
        fail(tree, "'" + function + "' of " + std::to_string(out.width) + " and " + std::to_string(width) + " columns");
      out.width = std::max(out.width, width);
    }
    if (out.width > kMostColumns) fail(tree, "more than " + std::to_string(kMostColumns) + " columns");
    out.values = values_of(function, values);
    if (function == "%" && operand(0).whole && operand(1).is_number() && operand(1).values && *operand(1).values > 1)
      out.values = *operand(1).values - 1;
    if (function == "sum" && values[0]) out.values = capped((*values[0] - 1) * operand(0).width + 1);
    const bool keeps_whole = function == "+" || function == "-" || function == "*" || function == "sum" || function == "abs";
    out.whole = out.values || function == "floor" || function == "sign" ||
                (keeps_whole && std::all_of(out.operands.begin(), out.operands.end(), [&](std::size_t i) { return steps_[i].whole; }));
    return folded(std::move(out));
  }

  const std::vector<FormulaInput>& inputs_;
  std::vector<Step>& steps_;
};

std::optional<TaskFormula> TaskFormula::compile(const std::string& text, const std::vector<FormulaInput>& inputs, std::string& problem) {
  const auto parsed = parse_formula(text);
  try {
    if (!parsed.tree) throw SyntaxProblem(*parsed.problem);
    TaskFormula out;
    TaskCompiler(inputs, out.steps_).step(*parsed.tree);
    out.chooses_ = std::any_of(out.steps_.begin(), out.steps_.end(),
                               [](const Step& step) { return step.own && step.own->kind >= TaskFunction::Kind::choice; });
    return out;
  } catch (const SyntaxProblem& at) {
    problem = pointed_out(text, at.begin, at.end, at.begin, at.message);
    return std::nullopt;
  }
}

// Every step's value of so many examples at a time is kept.
void TaskFormula::evaluate(const std::vector<const double*>& inputs, std::int64_t count, double* out) const {
  constexpr std::int64_t kBlock = 256;
  for (std::int64_t first = 0; first < count; first += kBlock)
    evaluate_block(inputs, first, std::min(kBlock, count - first), out + first * width());
}

void TaskFormula::evaluate_block(const std::vector<const double*>& inputs, std::int64_t first, std::int64_t count, double* out) const {
  std::vector<std::vector<double>> values(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const std::int64_t width = step.width;
    auto& to = values[s];
    to.resize(static_cast<std::size_t>(count * width));
    const auto operand = [&](std::size_t i) -> const Step& { return steps_[step.operands[i]]; };
    const auto at = [&](std::size_t i, std::int64_t row, std::int64_t col) {
      return values[step.operands[i]][static_cast<std::size_t>(row * operand(i).width + (operand(i).width == 1 ? 0 : col))];
    };
    if (step.element) {
      std::vector<std::vector<double>> spread(step.operands.size());  // operands of one column, in each of them
      std::vector<const double*> columns;
      for (std::size_t i = 0; i < step.operands.size(); ++i) {
        if (operand(i).width != width) {
          for (std::int64_t row = 0; row < count; ++row) spread[i].insert(spread[i].end(), static_cast<std::size_t>(width), at(i, row, 0));
        }
        columns.push_back(operand(i).width == width ? values[step.operands[i]].data() : spread[i].data());
      }
      run_in_double(*step.element, to.size(), columns.data(), to.data());
      for (std::size_t i = 0; chooses_ && i < step.strict; ++i) {
        for (std::size_t j = 0; j < to.size(); ++j) to[j] = std::isnan(columns[i][j]) ? kNaN : to[j];
      }
      continue;
    }
    const auto input_of = [&](std::int64_t row) {
      return inputs[step.input - 1] + (step.rows == 1 ? first + row : (first + row) / step.rows) * step.stride;
    };
    for (std::int64_t row = 0; row < count; ++row) {
      double* place = to.data() + row * width;
      if (!step.own) {
        if (step.input == 0) *place = step.number;
        else std::copy_n(input_of(row) + step.begin, width, place);
        continue;
      }
      switch (step.own->kind) {
        case TaskFunction::Kind::bitwise:
          for (std::int64_t col = 0; col < width; ++col) place[col] = step.own->pair(at(0, row, col), at(1, row, col));
          break;
        case TaskFunction::Kind::negation:
          for (std::int64_t col = 0; col < width; ++col) place[col] = std::isnan(at(0, row, col)) ? kNaN : one_if(at(0, row, col) == 0);
          break;
        case TaskFunction::Kind::reduction:
          *place = step.own->start;
          for (std::int64_t col = 0; col < operand(0).width; ++col) *place = step.own->pair(*place, at(0, row, col));
          break;
        case TaskFunction::Kind::concat:
          for (std::size_t i = 0; i < step.operands.size(); ++i) {
            for (std::int64_t col = 0; col < operand(i).width; ++col) *place++ = at(i, row, col);
          }
          break;
        case TaskFunction::Kind::choice:
          *place = is_column(at(0, row, 0), step.stride) ? input_of(row)[static_cast<std::int64_t>(at(0, row, 0))] : kNaN;
          break;
        case TaskFunction::Kind::pick: {
          const std::int64_t columns = operand(0).width;
          const double n = at(1, row, 0);
          const double* from = values[step.operands[0]].data() + row * columns;
          *place = is_column(n, columns) ? step.own->pick(from, columns, static_cast<std::int64_t>(n)) : kNaN;
          break;
        }
      }
    }
  }
  std::copy(values.back().begin(), values.back().end(), out);
}

std::vector<std::pair<std::string, std::string>> task_functions() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& row : kOwn) out.emplace_back(row.name, row.doc);
  return out;
}

}  // namespace ffn
