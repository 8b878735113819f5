// Scratch memory, and one pass through the CPU network.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ffn/layers/watch.hpp"

namespace ffn::cpu {

/// Scratch memory of one pass: taken piece by piece, given back all at once, kept for the next pass. Pieces start on cache
/// lines and are not initialised.
class Arena {
 public:
  float* floats(std::int64_t count) { return static_cast<float*>(take(count * static_cast<std::int64_t>(sizeof(float)))); }
  std::int64_t* integers(std::int64_t count) {
    return static_cast<std::int64_t*>(take(count * static_cast<std::int64_t>(sizeof(std::int64_t))));
  }
  void reset();

 private:
  static constexpr std::int64_t kLine = 64;
  struct Free {
    void operator()(void* p) const;
  };
  struct Block {
    std::unique_ptr<char, Free> memory;
    std::int64_t size = 0;
  };
  void* take(std::int64_t bytes);
  static Block allocate(std::int64_t bytes);

  std::vector<Block> blocks_;
  std::int64_t used_ = 0;  ///< of the last block
};

/// One run's pass over one batch. Layers remember between forward and backward what they need of it: one pass at a time.
struct Pass {
  const float* parameters;  ///< the run's row
  float* gradients;         ///< likewise; at the start of the backward pass zero where layers add to it (layers/declare.hpp)
  Arena& arena;
  std::int64_t sequence_length;  ///< T of this batch
  bool training = false;
  double dropout_rate = 0;
  std::uint64_t dropout_seed = 0;
  std::int64_t step = 0;
  std::int64_t first_row = 0;  ///< of this batch, where it is a part of one: dropout masks are those of the whole
  Watcher* watcher = nullptr;

  /// The same with other scratch memory.
  Pass with(Arena& other) const {
    return {parameters, gradients, other, sequence_length, training, dropout_rate, dropout_seed, step, first_row, watcher};
  }
  void show(Value what, std::int64_t rows, std::int64_t width, const float* values) const {
    if (watcher) watcher->see(what, rows, width, values);
  }
};

}  // namespace ffn::cpu
