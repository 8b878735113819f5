#include "ffn/layers/pass.hpp"

#include <algorithm>
#include <cstdlib>

#include "ffn/base/error.hpp"

namespace ffn::cpu {

void Arena::Free::operator()(void* p) const { std::free(p); }

Arena::Block Arena::allocate(std::int64_t bytes) {
  Block block;
  block.size = (bytes + kLine - 1) / kLine * kLine;
  block.memory.reset(static_cast<char*>(std::aligned_alloc(kLine, static_cast<std::size_t>(block.size))));
  if (!block.memory)
    throw OutOfMemory(static_cast<std::size_t>(block.size), "the values of one step",
                      "a smaller train.batch_size, model.d_model or d_ff needs less");
  return block;
}

void* Arena::take(std::int64_t bytes) {
  bytes = (std::max<std::int64_t>(bytes, 1) + kLine - 1) / kLine * kLine;
  if (blocks_.empty() || used_ + bytes > blocks_.back().size) {
    blocks_.push_back(allocate(std::max<std::int64_t>(bytes, 1 << 16)));
    used_ = 0;
  }
  void* piece = blocks_.back().memory.get() + used_;
  used_ += bytes;
  return piece;
}

// From the second pass on there is one block that holds everything.
void Arena::reset() {
  if (blocks_.size() > 1) {
    std::int64_t total = 0;
    for (const auto& block : blocks_) total += block.size;
    blocks_.clear();
    blocks_.push_back(allocate(total));
  }
  used_ = 0;
}

}  // namespace ffn::cpu
