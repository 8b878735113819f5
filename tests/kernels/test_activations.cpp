// The activation catalogue: values, slopes, float against double, every instruction set, every array length.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>

#include "ffn/kernels/isa.hpp"
#include "rows.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// From 0 outwards to ±1e4, densest near 0, with denormals, the smallest normals and ±50.
std::vector<float> grid() {
  std::vector<float> z = {0.0f, -0.0f};
  for (const float x :
       {1e-45f, 1e-40f, 1.17549435e-38f, 1e-30f, 1e-20f, 1e-10f, 1e-7f, 50.0f, 80.0f, 86.9f, 87.1f, 88.8f, 89.0f, 104.0f, 1e3f, 1e4f}) {
    z.push_back(x);
    z.push_back(-x);
  }
  for (int i = 1; i <= 20'000; ++i) {
    const float x = static_cast<float>(std::sinh(i * 5e-4));  // to 11 013
    z.push_back(x);
    z.push_back(-x);
  }
  return z;
}

}  // namespace

TEST_CASE("every activation is documented, has a name of its own and is found by it") {
  std::map<std::string, int> names;
  for (const auto& row : activations()) {
    ++names[row.name];
    CHECK(std::string(row.formula).size() > 0);
    CHECK(std::string(row.source).size() > 5);
    CHECK(std::string(activation(row.name).name) == row.name);
  }
  CHECK(names.size() == activations().size());
  CHECK(names.size() >= 13);
  CHECK_THROWS_AS(activation("nope"), std::out_of_range);
  CHECK_THROWS_WITH(activation("nope"), "no activation named nope");
}

TEST_CASE("the kernels are those of the best instruction set that the processor has, or of the one that FFN_ISA names") {
  const auto all = builds();
  const bool named = std::getenv("FFN_ISA") != nullptr;  // the whole suite can be run so
  const auto& best = named                    ? all.at(kernel_isa())
                     : all.count("x86-64-v4") ? all.at("x86-64-v4")
                     : all.count("x86-64-v3") ? all.at("x86-64-v3")
                                              : all.at("baseline");
  CHECK(all.count(kernel_isa()) == 1);
  REQUIRE(best.size() == activations().size());
  for (std::size_t i = 0; i < best.size(); ++i) CHECK(activations()[i].forward == best[i].forward);
}

TEST_CASE("slopes are the differences of the values, in double") {
  std::size_t seen = 0;
  for (const auto& row : activations()) {
    CAPTURE(row.name);
    test::Worst worst;
    std::size_t kinked = 0;
    for (const double z : grid()) {
      const double h = 1e-6 * std::max(1.0, std::abs(z));
      // The difference is meaningless within h of a kink, where the slope jumps or bends; elsewhere this is about h²·φ'''.
      if (std::abs(slope(row, z + h) - 2 * slope(row, z) + slope(row, z - h)) > 1e-9) {
        ++kinked;
        continue;
      }
      const double difference = (value(row, z + h) - value(row, z - h)) / (2 * h);
      const double error = std::abs(slope(row, z) - difference) / std::max(1.0, std::abs(difference));
      worst.add(error, z);
    }
    CAPTURE(worst.where());
    CHECK(worst.error() < 1e-8);  // rounding: ε/h = 1e-10 · a few; truncation: h²·φ'''/6 = 1e-13
    CHECK(kinked <= 40);          // as many as the grid has within h of 0; a wrong slope is wrong in more places
    ++seen;
  }
  CHECK(seen == activations().size());
}

TEST_CASE("float agrees with double in every build, to the extremes") {
  std::size_t seen = 0;
  for (const auto& [isa, rows] : builds()) {
    for (const auto& row : rows) {
      CAPTURE(isa, row.name);
      test::Worst worst, worst_slope;
      for (const float z : grid()) {
        // A few roundings (6e-8 each) of the largest number on the way, which is about |z| or |φ(z)|.
        const double exact = value(row, z), exact_slope = slope(row, z),
                     size = std::max({1.0, std::abs(exact), std::abs(static_cast<double>(z))});
        const double error = std::abs(value_f(row, z) - exact) / size,
                     slope_error = std::abs(slope_f(row, z) - exact_slope) / std::max(1.0, std::abs(exact_slope));
        worst.add(error, z);
        worst_slope.add(slope_error, z);
      }
      CAPTURE(worst.where(), worst_slope.where());
      CHECK(worst.error() < 4e-7);
      CHECK(worst_slope.error() < 2e-6);  // products of three rounded factors, up to 10 in size
      ++seen;
    }
  }
  CHECK(seen == builds().size() * activations().size());
}

TEST_CASE("small values keep their relative precision where the activation passes through 0") {
  std::size_t seen = 0;
  for (const auto& [isa, rows] : builds()) {
    for (const auto& row : rows) {
      if (value(row, 0) != 0) continue;  // sigmoid, softplus
      CAPTURE(isa, row.name);
      for (const float z : {1e-30f, -1e-30f, 1e-10f, -1e-10f, 1e-5f, -1e-5f, 1e-3f, -1e-3f}) {
        CAPTURE(z);
        CHECK(value_f(row, z) == Approx(value(row, z)).epsilon(1e-6).margin(1e-44));
      }
      ++seen;
    }
  }
  CHECK(seen >= builds().size() * 11);
}

TEST_CASE("NaN in is NaN out, forward and backward, in every build") {
  std::size_t seen = 0;
  for (const auto& [isa, rows] : builds()) {
    for (const auto& row : rows) {
      CAPTURE(isa, row.name);
      CHECK(std::isnan(value_f(row, kNan)));
      CHECK(std::isnan(slope_f(row, kNan)));
      CHECK(std::isnan(slope_f(row, 1.0f, kNan)));
      CHECK(std::isnan(slope_f(row, -1.0f, kNan)));
      CHECK(std::isnan(value(row, static_cast<double>(kNan))));
      CHECK(std::isnan(slope(row, static_cast<double>(kNan))));
      ++seen;
    }
  }
  CHECK(seen == builds().size() * activations().size());
}

TEST_CASE("values and slopes of finite numbers are no NaN, however large they are, in every build") {
  int checked = 0;
  for (const auto& [isa, rows] : builds()) {
    for (const auto& row : rows) {
      INFO(isa << " " << row.name);
      const bool unbounded = std::string(row.name) == "relu2";  // z² and 2z
      for (const double size : {1e4, 1e7, 1e12, 1e19, 2e19, 1e20, 1e30, 1e38}) {
        for (const double z : {size, -size}) {
          INFO(z);
          const auto x = static_cast<float>(z);
          CHECK_FALSE(std::isnan(value_f(row, x)));
          CHECK_FALSE(std::isnan(value(row, z)));
          const double limit = std::abs(slope(row, z > 0 ? 2e3 : -2e3));  // where every slope has come to its end, also one like 1/z²
          CHECK((unbounded ? !std::isnan(slope_f(row, x)) : std::abs(std::abs(static_cast<double>(slope_f(row, x))) - limit) < 1e-6));
          CHECK((unbounded ? !std::isnan(slope(row, z)) : std::abs(std::abs(slope(row, z)) - limit) < 1e-6));
          ++checked;
        }
      }
      for (const double z : {1e160, -1e160, 1e300, -1e300}) CHECK((unbounded || std::abs(slope(row, z)) <= 1));
    }
  }
  CHECK(checked >= 16 * 13);
}

TEST_CASE("the piecewise and the saturating activations are exact at infinity, and the former give no negative zero") {
  for (const auto& [isa, rows] : builds()) {
    CAPTURE(isa);
    for (const auto& row : rows) {
      const std::string name = row.name;
      if (name == "tanh" || name == "sigmoid") CHECK(value_f(row, kInfinity) == 1.0f);
      if (name != "relu" && name != "relu2") continue;
      CHECK(value_f(row, -kInfinity) == 0.0f);
      CHECK(slope_f(row, -kInfinity) == 0.0f);
      CHECK(!std::signbit(value_f(row, -1.0f)));
      CHECK(!std::signbit(value(row, -1.0)));
      if (name == "relu") CHECK(slope_f(row, kInfinity) == 1.0f);
    }
  }
}

TEST_CASE("an element gets the same bits at any array length and alignment, also in place") {
  constexpr std::size_t kLongest = 67, kOffsets = 16;
  std::vector<float> z(kLongest + kOffsets), dy(z.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = static_cast<float>(std::sinh((static_cast<double>(i) - 40) * 0.12));
    dy[i] = static_cast<float>(std::cos(static_cast<double>(i)));
  }
  const float special[] = {0.0f, -0.0f, 1e-45f, -1e-40f, 1e-30f, -50.0f, 88.5f, -88.5f, 1e4f, -1e4f, kInfinity, -kInfinity, kNan};
  for (std::size_t i = 0; i < std::size(special); ++i) z[5 * i + 3] = special[i];
  const auto same = [](float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); };

  std::size_t seen = 0;
  for (const auto& [isa, rows] : builds()) {
    for (const auto& row : rows) {
      CAPTURE(isa, row.name);
      std::vector<float> one_y(z.size()), one_dz(z.size());
      for (std::size_t i = 0; i < z.size(); ++i) {
        one_y[i] = value_f(row, z[i]);
        one_dz[i] = slope_f(row, z[i], dy[i]);
      }
      std::size_t different = 0;
      for (std::size_t n = 1; n <= kLongest; ++n) {
        for (std::size_t offset = 0; offset < kOffsets; ++offset) {
          // Output, in place, and all three backward arrays at different alignments.
          std::vector<float> y(z.size() + 1), dz(z.size() + 1);
          std::vector<float> in_place(z), in_place_dy(dy);
          row.forward(n, z.data() + offset, y.data() + 1);
          row.backward(n, z.data() + offset, dy.data() + offset, dz.data() + (offset + 5) % kOffsets);
          row.forward(n, in_place.data() + offset, in_place.data() + offset);
          row.backward(n, z.data() + offset, in_place_dy.data() + offset, in_place_dy.data() + offset);
          for (std::size_t i = 0; i < n; ++i) {
            const auto at = offset + i;
            different += !same(y[1 + i], one_y[at]) + !same(in_place[at], one_y[at]) + !same(dz[(offset + 5) % kOffsets + i], one_dz[at]) +
                         !same(in_place_dy[at], one_dz[at]);
          }
          if (offset + n < z.size()) different += !same(in_place[offset + n], z[offset + n]);  // nothing beyond the end
          different += y[0] != 0 || y[1 + n] != 0;
        }
      }
      CHECK(different == 0);
      ++seen;
    }
  }
  CHECK(seen == builds().size() * activations().size());
}

TEST_CASE("no elements are no work") {
  for (const auto& row : activations()) {
    row.forward(0, nullptr, nullptr);
    row.backward(0, nullptr, nullptr, nullptr);
    row.forward64(0, nullptr, nullptr);
    row.backward64(0, nullptr, nullptr, nullptr);
  }
  SUCCEED();
}
