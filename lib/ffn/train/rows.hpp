// One row of floats per run, on cache lines, zero at the start.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "ffn/base/error.hpp"
#include "ffn/base/tensor_data.hpp"

namespace ffn {

class Rows {
 public:
  Rows(std::int64_t num_runs, std::int64_t width) : num_runs_(num_runs), width_(width) {
    const auto bytes = (static_cast<std::size_t>(num_runs * width) * sizeof(float) + 63) / 64 * 64 + 64;
    values_.reset(static_cast<float*>(std::aligned_alloc(64, bytes)));
    if (!values_)
      throw OutOfMemory(bytes, "the parameters of a cohort", "a smaller model.d_model, d_ff or num_experts, or fewer blocks, need less");
    std::fill_n(values_.get(), num_runs * width, 0.0f);
  }
  std::int64_t num_runs() const { return num_runs_; }
  std::int64_t width() const { return width_; }
  float* row(std::int64_t run) { return values_.get() + run * width_; }
  const float* row(std::int64_t run) const { return values_.get() + run * width_; }

  /// As a named tensor.
  TensorData data(const std::string& name, std::int64_t run) const {
    return {
        name, DType::f32, {width_}, std::string(reinterpret_cast<const char*>(row(run)), static_cast<std::size_t>(width_) * sizeof(float))};
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::int64_t num_runs_, width_;
  std::unique_ptr<float, Free> values_;
};

}  // namespace ffn
