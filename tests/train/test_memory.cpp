// How many workers the memory allows.
#include <limits>

#include "ffn/train/memory.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("Workers are as many as cores unless the memory holds fewer runs", "[memory]") {
  constexpr double GB = 1e9;
  CHECK(workers_that_fit(4, 1 * GB, 4 * GB) == 4);
  CHECK(workers_that_fit(4, 1 * GB, 3.9 * GB) == 3);
  CHECK(workers_that_fit(4, 3 * GB, 3.9 * GB) == 1);
  CHECK(workers_that_fit(4, 5 * GB, 3.9 * GB) == 1);  // whether one run fits is another's question
  CHECK(workers_that_fit(4, 0, 0) == 4);
  CHECK(workers_that_fit(1, 5 * GB, 1 * GB) == 1);
  CHECK(workers_that_fit(4, 5 * GB, std::numeric_limits<double>::infinity()) == 4);
}

TEST_CASE("Some memory is free", "[memory]") { CHECK(free_memory() > 0); }
