// The ceiling of a task.
#include "../support/catch_plain.hpp"
#include "ffn/data/ceiling.hpp"

using namespace ffn;

namespace {

std::int64_t num_separable(std::int64_t bits) {
  ExampleSet patterns;
  patterns.count = std::int64_t{1} << bits;
  for (std::int64_t pattern = 0; pattern < patterns.count; ++pattern) {
    for (std::int64_t j = 0; j < bits; ++j) patterns.vectors.push_back((pattern >> j & 1) != 0 ? 1.0f : -1.0f);
  }
  std::int64_t count = 0;
  for (std::int64_t function = 0; function < std::int64_t{1} << patterns.count; ++function) {
    patterns.labels.clear();
    for (std::int64_t pattern = 0; pattern < patterns.count; ++pattern) patterns.labels.push_back(function >> pattern & 1);
    count += is_linearly_separable(patterns, bits);
  }
  return count;
}

std::string of_label(const std::string& label) {
  FunctionConfig task;
  *task.inputs = {{"x", {{"bit", 3}}}};
  task.label = label;
  return known_ceiling(task);
}

}  // namespace

// OEIS A000609: Boolean functions of n variables that a threshold decides.
TEST_CASE("as many Boolean functions are linearly separable as are known to be") {
  CHECK(num_separable(2) == 14);
  CHECK(num_separable(3) == 104);
}

TEST_CASE("a task of few bits says how often its most frequent class comes and whether a plane separates it") {
  CHECK(of_label("x[0] & x[1] & x[2]") == "8 inputs, majority class 88 %; linearly separable");
  CHECK_THAT(of_label("sum(x) > 1"), ContainsSubstring("majority class 50 %; linearly separable"));
  CHECK_THAT(of_label("parity(x)"), ContainsSubstring("majority class 50 %; not linearly separable"));
  CHECK(of_label("sum(x)").empty());  // four classes
  XorConfig wide;
  wide.bits = 9;
  CHECK(known_ceiling(wide).empty());
  FunctionConfig named;
  named.name = "moons";
  CHECK(known_ceiling(named) == "moons: a linear model about 87 %");
  SequenceConfig sequence;
  sequence.name = "copy";
  CHECK(known_ceiling(sequence) == "copy: chance 1 / alphabet; attention gets all, without a feed-forward layer");
}
