// How many workers the memory allows.
#include <limits>

#include "ffn/train/devices.hpp"
#include "ffn/train/memory.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("Workers are as many as cores unless the memory holds fewer runs", "[memory]") {
  constexpr double GB = 1e9;
  CHECK(affordable_workers(4, 1 * GB, 4 * GB) == 4);
  CHECK(affordable_workers(4, 1 * GB, 3.9 * GB) == 3);
  CHECK(affordable_workers(4, 3 * GB, 3.9 * GB) == 1);
  CHECK(affordable_workers(4, 5 * GB, 3.9 * GB) == 1);  // whether one run fits is another's question
  CHECK(affordable_workers(4, 0, 0) == 4);
  CHECK(affordable_workers(1, 5 * GB, 1 * GB) == 1);
  CHECK(affordable_workers(4, 5 * GB, std::numeric_limits<double>::infinity()) == 4);
}

TEST_CASE("Some memory is free", "[memory]") { CHECK(free_memory() > 0); }

TEST_CASE("A stack of mixtures has room for all experts of each token", "[memory]") {
  RunConfig dense, mixture;
  auto& experts = mixture.model.ffn.emplace<MoeConfig>();
  experts.num_experts = 64;
  experts.top_k = 1;
  const TaskShape shape{false, 2, 1, 2};
  dense.train.batch_size = mixture.train.batch_size = 1024;  // so that weights take little beside them
  constexpr std::int64_t kMemory = 1 << 28;
  CHECK(stack_width(mixture, shape, kMemory) * 16 <= stack_width(dense, shape, kMemory));
}
