// Every activation against PyTorch's values and slopes, float64 (scripts/generate/golden wrote them), and what follows from those
// for its limits.
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "rows.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using namespace ffn;
using namespace ffn::test;
using nlohmann::json;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kInfinity64 = std::numeric_limits<double>::infinity();

const json& golden() {
  static const json document = [] {
    std::ifstream in(std::string(FFN_SOURCE_DIR) + "/tests/golden/activations.json");
    return json::parse(in);
  }();
  return document;
}

/// "value" or "slope" of an activation at each of golden()["z"].
std::vector<double> pytorch(const std::string& activation, const char* what) {
  INFO("no values of PyTorch for " << activation << "? run scripts/generate/golden");
  REQUIRE(golden()["cases"].contains(activation));
  return golden()["cases"][activation][what].get<std::vector<double>>();
}

std::vector<double> golden_grid() { return golden()["z"].get<std::vector<double>>(); }

struct Limits {
  double below, above;
};

// From PyTorch's values at ±1e15 and ±1e30: what still moves between them goes to infinity.
Limits limits(const std::string& activation, const char* what) {
  const auto z = golden_grid(), y = pytorch(activation, what);
  const auto at = [&](double wanted) {
    for (std::size_t i = 0; i < z.size(); ++i) {
      if (z[i] == wanted) return y.at(i);
    }
    throw std::out_of_range("no such point in the grid");
  };
  const auto limit = [](double near, double far) {
    return std::abs(far - near) <= 1e-6 * std::max(1.0, std::abs(near)) ? far : std::copysign(kInfinity64, far);
  };
  return {limit(at(-1e15), at(-1e30)), limit(at(1e15), at(1e30))};
}

}  // namespace

TEST_CASE("every activation and its slope are PyTorch's, in double") {
  const auto z = golden_grid();
  std::size_t seen = 0;
  for (const auto& row : activations()) {
    CAPTURE(row.name);
    const auto values = pytorch(row.name, "value"), slopes = pytorch(row.name, "slope");
    REQUIRE(values.size() == z.size());
    REQUIRE(slopes.size() == z.size());
    test::Worst worst, worst_slope;
    for (std::size_t i = 0; i < z.size(); ++i) {
      worst.add((value(row, z[i]) - values[i]) / std::max({1.0, std::abs(values[i]), std::abs(z[i])}), z[i]);
      worst_slope.add((slope(row, z[i]) - slopes[i]) / std::max(1.0, std::abs(slopes[i])), z[i]);
    }
    CAPTURE(worst.where(), worst_slope.where());
    CHECK(worst.error() < 1e-14);
    CHECK(worst_slope.error() < 1e-13);  // products of three factors, up to 10 in size
    ++seen;
  }
  CHECK(seen == activations().size());
  CHECK(golden()["cases"].size() == seen);  // nothing is kept of rows that are gone
}

TEST_CASE("the limits that PyTorch's values tell are the known ones") {
  const auto check = [](const char* name, Limits value, Limits slope) {
    CAPTURE(name);
    const auto v = limits(name, "value"), s = limits(name, "slope");
    CHECK((v.below == value.below && v.above == value.above));
    CHECK((s.below == slope.below && s.above == slope.above));
  };
  check("identity", {-kInfinity64, kInfinity64}, {1, 1});
  check("leaky_relu", {-kInfinity64, kInfinity64}, {0.01, 1});
  check("elu", {-1, kInfinity64}, {0, 1});
  check("gelu", {0, kInfinity64}, {0, 1});
  check("relu2", {0, kInfinity64}, {0, kInfinity64});
  check("tanh", {-1, 1}, {0, 0});
  check("sigmoid", {0, 1}, {0, 0});
}

TEST_CASE("at infinity the result is the limit or NaN, never another number") {
  const auto sane = [](double found, double limit) { return std::isnan(found) || found == Approx(limit).margin(1e-12) || found == limit; };
  std::size_t seen = 0;
  for (const auto& [isa, rows] : builds()) {
    for (const auto& row : rows) {
      CAPTURE(isa, row.name);
      const auto to = limits(row.name, "value"), slope_to = limits(row.name, "slope");
      CHECK(sane(value_f(row, kInfinity), to.above));
      CHECK(sane(value_f(row, -kInfinity), to.below));
      CHECK(sane(slope_f(row, kInfinity), slope_to.above));
      CHECK(sane(slope_f(row, -kInfinity), slope_to.below));
      CHECK(sane(value(row, kInfinity64), to.above));
      CHECK(sane(value(row, -kInfinity64), to.below));
      CHECK(sane(slope(row, kInfinity64), slope_to.above));
      CHECK(sane(slope(row, -kInfinity64), slope_to.below));
      // A value that goes to infinity has to arrive there: a run that diverges has to show.
      if (std::isinf(to.above)) CHECK(value_f(row, kInfinity) == static_cast<float>(to.above));
      ++seen;
    }
  }
  CHECK(seen == builds().size() * activations().size());
}
