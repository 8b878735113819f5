#include "ffn/formula/task_formula.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ffn/base/suggest.hpp"

namespace ffn {

using Values = std::optional<std::int64_t>;  // how many whole numbers from 0 on a result may be

struct TaskFunction {
  enum class Kind { elementwise, reduction, concat } kind;
  const char* name;
  const char* doc;
  std::size_t operands;           // of an elementwise one
  double (*of)(const double* x);  // of one column
  double start;                   // of a reduction: over the columns
  double (*fold)(double, double);
  Values (*values)(const std::vector<Values>& of);
};

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostValues = 1 << 20, kMostColumns = 4096;

constexpr double one_if(bool holds) { return holds ? 1 : 0; }

// & | ^ are defined for whole numbers that a double has exactly.
template <class F>
double bitwise(const double* x, const F& f) {
  const auto is_whole = [](double v) { return std::abs(v) < 0x1p53 && v == std::nearbyint(v); };
  return is_whole(x[0]) && is_whole(x[1]) ? static_cast<double>(f(static_cast<std::int64_t>(x[0]), static_cast<std::int64_t>(x[1]))) : kNaN;
}

Values two(const std::vector<Values>& /*of*/) { return 2; }
Values any(const std::vector<Values>& /*of*/) { return std::nullopt; }
Values capped(std::int64_t count) { return count <= kMostValues ? Values(count) : std::nullopt; }

// Calls f(count of the first, count of the second) where both are known.
template <class F>
Values both(const std::vector<Values>& of, const F& f) {
  return of.size() == 2 && of[0] && of[1] ? capped(f(*of[0], *of[1])) : std::nullopt;
}
Values sums(const std::vector<Values>& of) {
  return both(of, [](std::int64_t a, std::int64_t b) { return a + b - 1; });
}
Values products(const std::vector<Values>& of) {
  return both(of, [](std::int64_t a, std::int64_t b) { return (a - 1) * (b - 1) + 1; });
}
Values bit_patterns(const std::vector<Values>& of) {
  return both(of, [](std::int64_t a, std::int64_t b) {
    std::int64_t power = 1;
    while (power < std::max(a, b)) power *= 2;
    return power;
  });
}
Values largest(const std::vector<Values>& of) {
  Values most = 1;
  for (const auto& count : of) most = most && count ? Values(std::max(*most, *count)) : std::nullopt;
  return most;
}
Values largest_choice(const std::vector<Values>& of) { return largest({of[1], of[2]}); }

using Function = TaskFunction;

constexpr Function elementwise(const char* name, std::size_t operands, double (*of)(const double*), const char* doc,
                               Values (*values)(const std::vector<Values>&) = any) {
  return {Function::Kind::elementwise, name, doc, operands, of, 0, nullptr, values};
}
constexpr Function reduction(const char* name, double start, double (*fold)(double, double), const char* doc,
                             Values (*values)(const std::vector<Values>&) = any) {
  return {Function::Kind::reduction, name, doc, 1, nullptr, start, fold, values};
}

const Function kFunctions[] = {
    elementwise(
        "+", 2, [](const double* x) { return x[0] + x[1]; }, "sum", sums),
    elementwise(
        "-", 2, [](const double* x) { return x[0] - x[1]; }, "difference"),
    elementwise(
        "*", 2, [](const double* x) { return x[0] * x[1]; }, "product", products),
    elementwise(
        "/", 2, [](const double* x) { return x[0] / x[1]; }, "quotient"),
    elementwise(
        "%", 2, [](const double* x) { return x[0] - x[1] * std::floor(x[0] / x[1]); }, "remainder, with the sign of the divisor"),
    elementwise(
        "&", 2, [](const double* x) { return bitwise(x, [](auto a, auto b) { return a & b; }); }, "and, bit by bit", bit_patterns),
    elementwise(
        "|", 2, [](const double* x) { return bitwise(x, [](auto a, auto b) { return a | b; }); }, "or, bit by bit", bit_patterns),
    elementwise(
        "^", 2, [](const double* x) { return bitwise(x, [](auto a, auto b) { return a ^ b; }); }, "exclusive or, bit by bit", bit_patterns),
    elementwise(
        "!", 1, [](const double* x) { return one_if(x[0] == 0); }, "not: 1 of 0, else 0", two),
    elementwise(
        "==", 2, [](const double* x) { return one_if(x[0] == x[1]); }, "1 where it holds, else 0", two),
    elementwise(
        "!=", 2, [](const double* x) { return one_if(x[0] != x[1]); }, "likewise", two),
    elementwise(
        "<", 2, [](const double* x) { return one_if(x[0] < x[1]); }, "likewise", two),
    elementwise(
        "<=", 2, [](const double* x) { return one_if(x[0] <= x[1]); }, "likewise", two),
    elementwise(
        ">", 2, [](const double* x) { return one_if(x[0] > x[1]); }, "likewise", two),
    elementwise(
        ">=", 2, [](const double* x) { return one_if(x[0] >= x[1]); }, "likewise", two),
    elementwise(
        "sin", 1, [](const double* x) { return std::sin(x[0]); }, "sine"),
    elementwise(
        "cos", 1, [](const double* x) { return std::cos(x[0]); }, "cosine"),
    elementwise(
        "tan", 1, [](const double* x) { return std::tan(x[0]); }, "tangent"),
    elementwise(
        "tanh", 1, [](const double* x) { return std::tanh(x[0]); }, "hyperbolic tangent"),
    elementwise(
        "exp", 1, [](const double* x) { return std::exp(x[0]); }, "e to the power of x"),
    elementwise(
        "log", 1, [](const double* x) { return std::log(x[0]); }, "natural logarithm; not a number below 0"),
    elementwise(
        "log1p", 1, [](const double* x) { return std::log1p(x[0]); }, "ln(1 + x)"),
    elementwise(
        "sqrt", 1, [](const double* x) { return std::sqrt(x[0]); }, "square root; not a number below 0"),
    elementwise(
        "abs", 1, [](const double* x) { return std::abs(x[0]); }, "absolute value"),
    elementwise(
        "sign", 1, [](const double* x) { return one_if(x[0] > 0) - one_if(x[0] < 0); }, "-1, 0 or 1"),
    elementwise(
        "floor", 1, [](const double* x) { return std::floor(x[0]); }, "largest whole number that is not larger"),
    elementwise(
        "pow", 2, [](const double* x) { return std::pow(x[0], x[1]); }, "pow(a, n): a to the power of n"),
    elementwise(
        "min", 2, [](const double* x) { return std::isnan(x[0]) ? x[0] : std::min(x[1], x[0]); },
        "smaller one of two; of one value its smallest column", largest),
    elementwise(
        "max", 2, [](const double* x) { return std::isnan(x[0]) ? x[0] : std::max(x[1], x[0]); },
        "larger one of two; of one value its largest column", largest),
    elementwise(
        "clip", 3, [](const double* x) { return x[0] < x[1]   ? x[1]
                                                : x[0] > x[2] ? x[2]
                                                              : x[0]; }, "clip(x, low, high)"),
    elementwise(
        "where", 3, [](const double* x) { return x[0] != 0 ? x[1] : x[2]; }, "where(condition, a, b): a, or b where it is 0",
        largest_choice),
    reduction(
        "sum", 0, [](double a, double b) { return a + b; }, "sum over the columns"),
    reduction(
        "min", kInfinity, [](double a, double b) { return std::isnan(a) ? a : std::min(b, a); }, "", largest),
    reduction(
        "max", -kInfinity, [](double a, double b) { return std::isnan(a) ? a : std::max(b, a); }, "", largest),
    reduction(
        "parity", 0, [](double a, double b) { return one_if((a != 0) != (b != 0)); }, "1 if an odd number of columns is not 0, else 0",
        two),
    {Function::Kind::concat, "concat", "columns side by side", 0, nullptr, 0, nullptr, largest},
};

// min and max have two rows: by how many operands there are.
const Function* find_function(const std::string& name, std::size_t operands) {
  const Function* found = nullptr;
  for (const auto& row : kFunctions) {
    if (row.name != name) continue;
    found = &row;
    if (row.kind == Function::Kind::concat || row.operands == operands) return found;
  }
  return found;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto& row : kFunctions) {
    if (std::isalpha(static_cast<unsigned char>(row.name[0])) != 0 && *row.doc != '\0') names.emplace_back(row.name);
  }
  return names;
}

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
        return tree.text == "!" ? call(tree, "!") : negative(tree);
      case Syntax::Kind::slice:
        return slice(tree);
      default:
        return call(tree, tree.text);
    }
  }

 private:
  using Step = TaskFormula::Step;

  [[noreturn]] static void fail(const Syntax& tree, std::string message) { throw SyntaxProblem{tree.begin, tree.end, std::move(message)}; }

  std::size_t add(Step step) {
    steps_.push_back(std::move(step));
    return steps_.size() - 1;
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
    out.function = find_function("*", 2);
    out.width = steps_[out.operands[1]].width;
    out.whole = steps_[out.operands[1]].whole;
    return add(std::move(out));
  }

  std::size_t name(const Syntax& tree) {
    if (tree.text == "pi") return number(kPi);
    std::vector<std::string> known;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      known.push_back(inputs_[i].name);
      if (inputs_[i].name != tree.text) continue;
      Step out;
      out.input = i + 1;
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
    const std::size_t whole = step(of);
    Step out = steps_[whole];
    if (out.input == 0) fail(of, "only an input has columns to choose from");
    const auto bound = [&](const std::vector<Syntax>& written, std::int64_t otherwise) {
      if (written.empty()) return otherwise;
      const Size size = evaluate_size(written[0], -1, -1, 0);
      if (!size.problem.empty()) fail(written[0], "this bound " + size.problem);
      return size.value;
    };
    const std::int64_t low = bound(tree.low, 0), high = tree.is_index ? low + 1 : bound(tree.high, out.width);
    if (low >= high || high > out.width)
      fail(tree, "[" + std::to_string(low) + ":" + std::to_string(high) + "] of a value with " + std::to_string(out.width) + " columns");
    out.begin += low;
    out.width = high - low;
    return add(std::move(out));
  }

  std::size_t call(const Syntax& tree, const std::string& function) {
    Step out;
    for (const auto& part : tree.parts) out.operands.push_back(step(part));
    out.function = find_function(function, out.operands.size());
    if (!out.function)
      fail(tree,
           "no function is called '" + function + "'" + did_you_mean(function, function_names()) + "; known: " + join(function_names()));
    const Function& row = *out.function;
    std::vector<Values> values;
    out.width = row.kind == Function::Kind::concat ? 0 : 1;
    for (std::size_t i = 0; i < out.operands.size(); ++i) {
      const Step& operand = steps_[out.operands[i]];
      values.push_back(operand.values);
      if (row.kind == Function::Kind::concat) out.width += operand.width;
      if (row.kind != Function::Kind::elementwise) continue;
      if (operand.width != 1 && out.width != 1 && operand.width != out.width)
        fail(tree, "'" + function + "' of " + std::to_string(out.width) + " and " + std::to_string(operand.width) + " columns");
      out.width = std::max(out.width, operand.width);
    }
    const bool fits = row.kind == Function::Kind::concat ? !values.empty() : values.size() == row.operands;
    if (!fits)
      fail(tree, function + " takes " + (row.kind == Function::Kind::concat ? "one or more" : std::to_string(row.operands)) +
                     " values, got " + std::to_string(values.size()));
    if (out.width > kMostColumns) fail(tree, "more than " + std::to_string(kMostColumns) + " columns");
    out.values = row.values(values);
    const auto operand = [&](std::size_t i) -> const Step& { return steps_[out.operands[i]]; };
    if (function == "%" && operand(0).whole && operand(1).is_number() && operand(1).number >= 1) out.values = *operand(1).values - 1;
    if (function == "sum" && values[0]) out.values = capped((*values[0] - 1) * operand(0).width + 1);
    const bool keeps_whole = function == "+" || function == "-" || function == "*" || function == "sum" || function == "abs";
    out.whole = out.values || function == "floor" || function == "sign" ||
                (keeps_whole && std::all_of(out.operands.begin(), out.operands.end(), [&](std::size_t i) { return steps_[i].whole; }));
    return add(std::move(out));
  }

  const std::vector<FormulaInput>& inputs_;
  std::vector<Step>& steps_;
};

std::optional<TaskFormula> TaskFormula::compile(const std::string& text, const std::vector<FormulaInput>& inputs, std::string& problem) {
  const auto parsed = parse_formula(text, Grammar::task);
  try {
    if (!parsed.tree) throw SyntaxProblem(*parsed.problem);
    TaskFormula out;
    TaskCompiler(inputs, out.steps_).step(*parsed.tree);
    return out;
  } catch (const SyntaxProblem& at) {
    problem = pointed_out(text, at.begin, at.end, at.begin, at.message);
    return std::nullopt;
  }
}

void TaskFormula::evaluate(const std::vector<const double*>& inputs, std::int64_t count, double* out) const {
  std::vector<std::vector<double>> values(steps_.size());
  std::vector<double> column;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Step& step = steps_[s];
    const std::int64_t width = step.width;
    auto& to = values[s];
    to.resize(static_cast<std::size_t>(count * width));
    const auto operand = [&](std::size_t i, std::int64_t row, std::int64_t col) {
      const Step& from = steps_[step.operands[i]];
      return values[step.operands[i]][static_cast<std::size_t>(row * from.width + (from.width == 1 ? 0 : col))];
    };
    for (std::int64_t row = 0; row < count; ++row) {
      double* place = to.data() + row * width;
      if (!step.function) {
        if (step.input == 0) *place = step.number;
        else std::copy_n(inputs[step.input - 1] + row * step.stride + step.begin, width, place);
        continue;
      }
      switch (step.function->kind) {
        case TaskFunction::Kind::elementwise:
          column.resize(step.operands.size());
          for (std::int64_t col = 0; col < width; ++col) {
            for (std::size_t i = 0; i < column.size(); ++i) column[i] = operand(i, row, col);
            place[col] = step.function->of(column.data());
          }
          break;
        case TaskFunction::Kind::reduction:
          *place = step.function->start;
          for (std::int64_t col = 0; col < steps_[step.operands[0]].width; ++col)
            *place = step.function->fold(*place, operand(0, row, col));
          break;
        case TaskFunction::Kind::concat:
          for (std::size_t i = 0; i < step.operands.size(); ++i) {
            for (std::int64_t col = 0; col < steps_[step.operands[i]].width; ++col) *place++ = operand(i, row, col);
          }
          break;
      }
    }
  }
  std::copy(values.back().begin(), values.back().end(), out);
}

std::vector<std::pair<std::string, std::string>> task_functions() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& row : kFunctions) {
    if (*row.doc != '\0') out.emplace_back(row.name, row.doc);
  }
  return out;
}

}  // namespace ffn
