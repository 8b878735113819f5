// The comparisons that the reference tests and `verify` rest on: what must not pass does not.
#include "ffn/base/nan_max.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using ffn::nan_max;
using ffn::test::Worst;

namespace {

const double kNan = std::nan("");

Worst worst_of(const std::vector<double>& errors) {
  Worst worst;
  for (std::size_t i = 0; i < errors.size(); ++i) worst.add(errors[i], i);
  return worst;
}

}  // namespace

TEST_CASE("the largest error is kept with its place, whatever its sign") {
  CHECK(worst_of({1e-9, -3e-9, 2e-9}).error() == 3e-9);
  CHECK(worst_of({1e-9, -3e-9, 2e-9}).where() == "1");
  CHECK(worst_of({0, 0}).error() == 0);
}

TEST_CASE("a NaN among the errors is larger than every bound, wherever it stands") {
  for (const auto& errors : {std::vector<double>{kNan}, {kNan, 1e-9}, {1e-9, kNan}, {1e-9, kNan, 2e-9}, {-kNan, 0, 0}}) {
    CHECK_FALSE(worst_of(errors).error() < 1e300);
    CHECK(std::isinf(worst_of(errors).error()));
  }
  CHECK(worst_of({1e-9, kNan, 2e-9, HUGE_VAL}).where() == "1");
}

TEST_CASE("a comparison of nothing does not pass") { CHECK_FALSE(Worst{}.error() < 1e300); }

TEST_CASE("the larger of two keeps what is not a number, on either side", ) {
  CHECK(nan_max(1, 2) == 2);
  CHECK(nan_max(2, 1) == 2);
  CHECK(nan_max(0, HUGE_VAL) == HUGE_VAL);
  CHECK(std::isnan(nan_max(1, kNan)));
  CHECK(std::isnan(nan_max(kNan, 1)));
  CHECK(std::isnan(nan_max(kNan, HUGE_VAL)));
}
