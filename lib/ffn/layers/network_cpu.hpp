// The whole network's training step on the CPU as one program: forward, loss and backward by hand on raw memory, one run
// at a time. LibTorch's modules say what the layers compute, in LibTorch's operations; this says it again without their cost per
// operation and without the autograd engine, and the tests hold the two together, gradient by gradient.
//
// A run is computed by itself, so its numbers cannot depend on its cohort; memory beyond its row is shared by all runs.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/config/task_config.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/attention_cpu.hpp"
#include "ffn/layers/feed_forward_cpu.hpp"
#include "ffn/layers/loss_cpu.hpp"
#include "ffn/layers/norm_cpu.hpp"

namespace ffn::cpu {

/// A batch of one run. `tokens` or `vectors` is set, as the task's shape says.
struct Examples {
  std::int64_t count = 0;                ///< B
  std::int64_t sequence_length = 1;      ///< T; 1 for vectors
  const std::int64_t* tokens = nullptr;  ///< (B, T)
  const float* vectors = nullptr;        ///< (B, width)
  Targets targets = {};                  ///< of the B·T positions
};

struct DropoutKey {
  double rate = 0;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

class Block {
 public:
  /// of_ffn: what the FFN is declared with, that of another block where they share one
  Block(const Declare& declare, const Declare& of_ffn, const ModelConfig& config, std::int64_t sequence_length, std::uint32_t index);
  /// From now on the FFN adds to the gradients of these parameters, which it shares.
  void share_ffn(const Declared::Range& parameters) { shared_ = parameters; }
  const float* forward(Pass& pass, std::int64_t rows, const float* x);
  const float* backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights);
  Router* router() { return ffn_ ? ffn_->router() : nullptr; }

 private:
  /// Norms by NormPlacement.
  struct SubLayer {
    std::optional<Norm> before, on_output, after_sum;
    std::uint32_t site = 0;  ///< of its dropout
    float* mask = nullptr;   ///< (rows, D) of the pass at work; null where nothing is dropped
  };
  static SubLayer make_sublayer(const Declare& declare, const std::string& name, const ModelConfig& config, std::uint32_t site);
  const float* drop(SubLayer& around, Pass& pass, const float* y) const;
  /// dy of what drop() gave → of what it took
  const float* undrop(const SubLayer& around, Pass& pass, const float* dy) const;
  const float* sum(Pass& pass, const float* a, const float* b) const;
  const float* feed(Pass& pass, const float* in);
  const float* feed_backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights);
  const float* forward_in_parallel(Pass& pass, const float* x);
  const float* backward_in_parallel(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights);
  template <class F>
  const float* apply(SubLayer& around, Pass& pass, std::int64_t rows, const float* x, const F& f);
  template <class F>
  const float* apply_backward(SubLayer& around, Pass& pass, const float* dy, const F& f);

  std::int64_t d_model_, rows_ = 0;
  bool residual_, parallel_;
  double residual_dropout_;
  std::optional<Attention> attention_;
  SubLayer around_attention_;
  std::unique_ptr<FeedForward> ffn_;
  SubLayer around_ffn_;
  std::optional<Declared::Range> shared_;
};

/// How examples become the first x: (B·T, D): vectors by a linear map, tokens by an embedding, plus one of their positions.
class InputEmbedding {
 public:
  InputEmbedding(const Declare& declare, const ModelConfig& config, const TaskShape& task);
  const float* forward(Pass& pass, const Examples& examples);
  void backward(Pass& pass, const Examples& examples, const float* dx);
  /// Token embedding (V, D); none for vectors.
  Place table() const { return embedding_; }

 private:
  std::int64_t d_model_;
  Place embedding_, position_;    ///< (V, D), (T, D)
  std::vector<float> sinusoids_;  ///< (T, D) in place of position_; empty without
  std::optional<Linear> projection_;
};

class Network {
 public:
  Network(const ModelConfig& config, const TaskShape& task, const Loss& loss = {});
  /// Layout of parameter and gradient rows: names, shapes and order of modules::Network.
  const RowLayout& layout() const { return declared_.layout(); }

  struct StepLoss {
    double mean = 0;                 ///< over the scored positions
    AuxiliaryValues auxiliary = {};  ///< means over the blocks
  };
  /// The loss on `examples` and its gradient, with the weighted auxiliary losses added to the objective.
  /// The gradient row is overwritten, but for its padding, which stays.
  StepLoss step(const float* parameters, float* gradients, const Examples& examples, const DropoutKey& dropout);

  /// The two halves of it for a part of a batch, whose first example and number of scored positions are told. What the parts' routers
  /// counted is added up in between (routers()). All that was given stays where it is until the second half ends.
  LossSums begin_step(const float* parameters, float* gradients, const Examples& part, const DropoutKey& dropout,
                      std::int64_t first_example, std::int64_t scored_of_batch);
  void end_step();
  /// Routers of all blocks that have one.
  std::vector<Router*> routers();
  /// The mean of their auxiliary losses over all blocks; 0 without a mixture.
  AuxiliaryValues auxiliary_losses();
  /// Sums over `examples`, without dropout.
  LossSums evaluate(const float* parameters, const Examples& examples);
  /// Outputs (B·T, width), without dropout; `examples` needs no targets. Valid until the next call.
  /// A watcher is shown what the layers compute on the way.
  const float* logits(const float* parameters, const Examples& examples, Watcher* watcher = nullptr);

 private:
  const float* forward(Pass& pass, const Examples& examples);

  TaskShape task_;
  Loss loss_;
  AuxiliaryValues auxiliary_weights_ = {};  ///< of one block
  Declared declared_;                       ///< by the members that follow, in their order
  InputEmbedding embedding_;
  std::vector<Block> blocks_;
  std::optional<Norm> final_norm_;
  Linear head_;
  Arena arena_, backward_arenas_[2];
  const float* features_ = nullptr;  ///< what the head saw
  // Between the halves of a step:
  std::optional<Pass> pass_;
  Examples examples_;
  const float* doutputs_ = nullptr;
};

}  // namespace ffn::cpu
