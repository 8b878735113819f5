// Candidates as functions: E at fixed points.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "ffn/formula/candidate.hpp"
#include "ffn/formula/named_formulas.hpp"
#include "ffn/formula/task_formula.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn {

namespace {

constexpr std::size_t kPoints = 96, kArguments = kMostMatrices + kMostScalars;
/// A value for every matrix's product and every scalar, matrices first.
using Point = std::array<double, kArguments>;
using ValueRow = std::vector<double>;

const std::vector<Point>& fixed_points() {
  static const auto points = [] {
    RandomStream random(sub_seed(0, "candidate"), 0);
    std::vector<Point> out(kPoints);
    for (auto& point : out)
      for (std::size_t i = 0; i < kArguments; ++i)
        point[i] = i < kMostMatrices ? 1.5 * random.normal() : (random.below(2) ? 1 : -1) * random.uniform(0.5, 2);
    return out;
  }();
  return points;
}

class CandidateFunction {
 public:
  explicit CandidateFunction(const Candidate& candidate) {
    std::vector<FormulaInput> inputs;
    for (const char* name : kMatrixNames) inputs.push_back({name, 1, {}});
    for (const char* name : kScalarNames) inputs.push_back({name, 1, {}});
    std::string problem;
    auto formula = TaskFormula::compile(expression_of({candidate.hidden, false}), inputs, problem);
    if (!formula) throw std::logic_error(problem);
    formula_ = std::move(*formula);
    std::set<std::size_t> used;
    for (const auto& step : formula_.steps())
      if (step.input > 0) used.insert(step.input - 1);
    for (const auto i : used) (i < kMostMatrices ? matrices : scalars).push_back(i);
  }

  ValueRow operator()(const std::vector<Point>& points) const {
    std::vector<ValueRow> columns(kArguments);
    for (const auto& point : points)
      for (std::size_t i = 0; i < kArguments; ++i) columns[i].push_back(point[i]);
    std::vector<const double*> inputs;
    for (const auto& column : columns) inputs.push_back(column.data());
    ValueRow out(points.size());
    formula_.evaluate(inputs, static_cast<std::int64_t>(points.size()), out.data());
    return out;
  }
  /// At the fixed points after a change of each.
  template <class Change>
  ValueRow after(const Change& change) const {
    auto points = fixed_points();
    for (auto& point : points) change(point);
    return (*this)(points);
  }

  std::vector<std::size_t> matrices, scalars;  ///< arguments that it depends on

 private:
  TaskFormula formula_;
};

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(a) + std::abs(b)); }

// a = c · b.
bool is_near(const ValueRow& a, const ValueRow& b, double c) {
  return std::equal(a.begin(), a.end(), b.begin(), [c](double x, double y) { return close(x, c * y); });
}

// b = c · a with one c.
bool proportional(const ValueRow& a, const ValueRow& b, double tolerance) {
  const auto largest = std::max_element(a.begin(), a.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
  if (*largest == 0) return true;
  const double c = b[static_cast<std::size_t>(largest - a.begin())] / *largest, scale = std::abs(*largest) * (1 + std::abs(c));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(b[i] - c * a[i]) <= tolerance * scale)) return false;
  return true;
}

// In its matrices, at fixed scalars: f(−1.7 z) = −1.7 f(z) and f(z + z') = f(z) + f(z').
bool is_linear(const CandidateFunction& f, const ValueRow& at) {
  const auto scaled = f.after([&](Point& p) {
    for (const auto m : f.matrices) p[m] *= -1.7;
  });
  auto others = fixed_points(), sums = others;
  for (std::size_t i = 0; i < others.size(); ++i) {
    for (const auto m : f.matrices) {
      others[i][m] = fixed_points()[(i + 1) % others.size()][m];
      sums[i][m] += others[i][m];
    }
  }
  const auto other = f(others), sum = f(sums);
  for (std::size_t i = 0; i < at.size(); ++i)
    if (!close(scaled[i], -1.7 * at[i]) || !close(sum[i], at[i] + other[i])) return false;
  return true;
}

ValueRow slope(const CandidateFunction& f, std::size_t argument) {
  constexpr double kStep = 1e-5;
  const auto above = f.after([&](Point& p) { p[argument] += kStep; });
  auto out = f.after([&](Point& p) { p[argument] -= kStep; });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (above[i] - out[i]) / (2 * kStep);
  return out;
}

// Whether fewer parameters say the same: a matrix without effect, two that enter as a sum, a scalar that a matrix takes over.
bool is_redundant(const CandidateFunction& f, const ValueRow& at) {
  std::vector<ValueRow> slopes;
  for (const auto m : f.matrices) {
    slopes.push_back(slope(f, m));
    if (std::all_of(slopes.back().begin(), slopes.back().end(), [](double x) { return std::abs(x) < 1e-7; })) return true;
  }
  for (std::size_t i = 0; i < slopes.size(); ++i)
    for (std::size_t j = i + 1; j < slopes.size(); ++j)
      if (proportional(slopes[i], slopes[j], 1e-5)) return true;
  for (const auto s : f.scalars) {
    if (proportional(at, f.after([&](Point& p) { p[s] *= 2; }), 1e-9)) return true;  // `down` takes it over
    for (const auto m : f.matrices)
      if (proportional(at, f.after([&](Point& p) { p[s] *= 2, p[m] *= 0.5; }), 1e-9)) return true;
  }
  return false;
}

// Digits of the values over the points, whatever their common factor.
std::string digits_of(const double* values) {
  double norm = 0, sign = 0;
  for (std::size_t i = 0; i < kPoints; ++i) norm += values[i] * values[i];
  norm = std::sqrt(norm);
  for (std::size_t i = 0; i < kPoints && sign == 0; ++i)
    if (std::abs(values[i]) > 1e-6 * norm) sign = values[i] > 0 ? 1 : -1;
  std::string out;
  for (std::size_t i = 0; i < kPoints; ++i) out += std::to_string(std::llround(sign * values[i] / norm * 1e6)) + " ";
  return out;
}

// The smallest over all orders and signs of matrices and orders of scalars.
std::string key_of(const CandidateFunction& f) {
  std::vector<std::size_t> matrices(f.matrices.size()), scalars(f.scalars.size());
  std::iota(matrices.begin(), matrices.end(), 0);
  std::iota(scalars.begin(), scalars.end(), kMostMatrices);
  std::vector<Point> all;
  const auto add = [&](unsigned signs) {
    for (const auto& point : fixed_points()) {
      Point p{};
      for (std::size_t i = 0; i < matrices.size(); ++i) p[f.matrices[i]] = (signs >> i & 1 ? -1 : 1) * point[matrices[i]];
      for (std::size_t i = 0; i < scalars.size(); ++i) p[f.scalars[i]] = point[scalars[i]];
      all.push_back(p);
    }
  };
  do {
    do {
      for (unsigned signs = 0; signs < 1u << matrices.size(); ++signs) add(signs);
    } while (std::next_permutation(scalars.begin(), scalars.end()));
  } while (std::next_permutation(matrices.begin(), matrices.end()));
  const auto values = f(all);
  std::string least;
  for (std::size_t i = 0; i < values.size(); i += kPoints) {
    auto digits = digits_of(values.data() + i);
    if (least.empty() || digits < least) least = std::move(digits);
  }
  return std::to_string(matrices.size()) + "/" + std::to_string(scalars.size()) + ": " + least;
}

CandidateFacts without_name(const Candidate& candidate) {
  const CandidateFunction f(candidate);
  const auto at = f(fixed_points());
  if (!std::all_of(at.begin(), at.end(), [](double x) { return std::isfinite(x) && std::abs(x) < 1e6; })) return {"not finite"};
  if (f.matrices.empty()) return {"constant"};
  if (is_linear(f, at)) return {"linear"};
  if (is_redundant(f, at)) return {"redundant"};
  const bool gated =
      f.matrices.size() > 1 && std::any_of(f.matrices.begin(), f.matrices.end(), [&](std::size_t m) {
        return is_near(f.after([&](Point& p) { p[m] *= -1.7; }), at, -1.7) && is_near(f.after([&](Point& p) { p[m] *= 3; }), at, 3);
      });
  return {"", (candidate.norm ? "norm " : "") + key_of(f), gated};
}

// Key → name of the layers and activations of the catalogue.
std::map<std::string, std::string> names_by_key() {
  std::map<std::string, std::string> out;
  const auto add = [&](const Candidate& candidate, const std::string& name) {
    if (const auto facts = without_name(candidate); facts.problem.empty()) out.emplace(facts.key, name);
  };
  for (const auto& row : activations()) add({{Hidden::Kind::call, 0, 0, row.name, {Hidden()}}}, row.name);
  for (const auto& row : named_formulas()) {
    const auto text = formula_text(row);
    if (const auto candidate = text.calls_phi() ? std::nullopt : candidate_of(text, "")) add(*candidate, row.name);
  }
  return out;
}

}  // namespace

CandidateFacts examine(const Candidate& candidate) {
  static const auto names = names_by_key();
  auto out = without_name(candidate);
  const auto named = names.find(out.key);
  if (out.problem.empty() && named != names.end()) out.named = named->second;
  return out;
}

}  // namespace ffn
