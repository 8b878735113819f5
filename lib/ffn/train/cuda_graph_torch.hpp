// A training step on a GPU as one captured graph, replayed without the host's cost per operation. On the CPU, and in a build
// without CUDA, there is nothing to capture and streams do nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ffn/layers/compat_torch.hpp"

namespace ffn {

/// The stream that all of a learner's work on a GPU is on, from the first gradient to the last replay: a backward pass that
/// was ever made on another one cannot be captured.
class StepStream {
 public:
  explicit StepStream(const torch::Device& device);
  ~StepStream();
  StepStream(const StepStream&) = delete;
  StepStream& operator=(const StepStream&) = delete;

  /// Makes it the current one.
  class Scope {
   public:
    explicit Scope(const StepStream& stream);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Guard;
    std::unique_ptr<Guard> guard_;
  };

  /// Until all that was asked of it is done.
  void wait() const;
  bool on_gpu() const { return impl_ != nullptr; }

 private:
  friend std::unique_ptr<class StepGraph> capture_step(const std::function<void()>&, const StepStream&, std::string&);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class StepGraph {
 public:
  virtual ~StepGraph() = default;
  virtual void replay() = 0;
};

/// Runs `step` a few times to warm up, then captures it. The step reads and writes the same memory every time and never waits
/// for the host. Null if it cannot be captured, with the reason in `why_not`; nothing is lost then, steps go on one by one.
std::unique_ptr<StepGraph> capture_step(const std::function<void()>& step, const StepStream& stream, std::string& why_not);

bool built_with_cuda();
/// GPUs that LibTorch sees; 0 in a build without CUDA. Initialises CUDA: not before a fork.
std::int64_t num_gpus();
/// "NVIDIA H200".
std::string gpu_name(std::int64_t index);
std::int64_t gpu_bytes(std::int64_t index);

}  // namespace ffn
