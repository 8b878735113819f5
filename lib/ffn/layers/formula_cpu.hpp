// A formula (formula/formula.hpp) as a program on raw memory: its operations forward, and backward by reverse-mode
// differentiation over the same list. Element-wise operations that follow each other go over the rows together, some at a time, so that
// what one wrote is still in the cache for the next; values whose last reader has been give their memory to later ones.
#pragma once

#include <vector>

#include "ffn/formula/formula.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/feed_forward_cpu.hpp"

namespace ffn::fused {

class FormulaProgram {
 public:
  /// `places`: where the graph's parameters stand in a row; `site` numbers the layer for its dropout masks.
  FormulaProgram(const FormulaGraph& graph, std::vector<Place> places, std::uint32_t site);
  FormulaProgram(FormulaProgram&&) = default;  // a copy's places would be those of the first
  /// How a backward pass leaves the gradient of a parameter.
  static Gradient gradient_of(const FormulaGraph& graph, int parameter);

  /// x: (rows, D), alive until backward → (rows, D), from the arena. `masks`: of all drops(), (rows, width) each, in place of own ones.
  const float* forward(Pass& pass, std::int64_t rows, const float* x, const std::vector<const float*>& masks = {});
  /// dy: (rows, D) → dx: (rows, D), from the arena
  const float* backward(Pass& pass, const float* dy);
  /// A dropout of the formula: its site, and how wide what it acts on is.
  struct Drop {
    std::uint32_t site;
    std::int64_t width;
  };
  const std::vector<Drop>& drops() const { return drops_; }

 private:
  struct Shape {
    bool batched = false;  ///< rows times as many values
    std::int64_t width = 1;
    bool operator==(const Shape& other) const { return batched == other.batched && width == other.width; }
  };
  /// Where a value stands. `index` counts those of its sort while the program is written, and then all: it is a place in bases_.
  struct Ref {
    enum class Of : std::uint8_t { nothing, x, dy, parameter, gradient, number, slot };
    Of of = Of::nothing;
    int index = 0;
    Shape shape;
  };
  enum class Kind : std::uint8_t {
    // of whole values
    product,
    weight_gradient,
    bias_gradient,
    input_gradient,
    draw_mask,
    // row by row
    activation,
    function,
    combine,
    multiply,
    normalise,
    normalise_backward,
    softmax,
    softmax_backward,
    top_k,
    reduce,
    copy_columns,
    mask,
    zero
  };
  struct Op {
    Kind kind;
    Ref a, b, out, beside;  ///< beside: a second result (slope, 1/σ, mask) or a third operand
    Arithmetic how = Arithmetic::copy;
    bool accumulate = false, centre = false, transposed = false;
    int matrix = -1, bias = -1;
    std::int64_t from = 0, to = 0;  ///< first columns of a and of out
    std::int64_t kept = 0;          ///< of a top_k
    float scale = 1;
    const Activation* phi = nullptr;
    const Expression* expression = nullptr;  ///< of a, b and `beside`
    std::size_t drop = 0;
  };
  class Writer;
  static constexpr std::size_t kX = 0, kDy = 1, kFirstParameter = 2;  ///< in bases_
  /// Operations that go over the rows together.
  struct Group {
    std::size_t begin, end;
    std::int64_t tile;  ///< rows at a time; 0: one operation on all of its value
  };

  static bool in_place(const Op& op);
  void share_slots(int num_values, std::size_t num_forward);
  void place_in_bases();
  void simplify();
  static bool goes_by_rows(const Op& op);
  static std::vector<Group> grouped(const std::vector<Op>& ops, std::size_t begin, std::size_t end);
  void run(Pass& pass, const std::vector<Group>& groups);
  void run(Pass& pass, const Op& op, std::int64_t first, std::int64_t rows);
  void take_slots(Pass& pass, const std::vector<Ref>& slots);
  float* memory(const Ref& ref, std::int64_t first_row) const {
    return bases_[static_cast<std::size_t>(ref.index)] + (ref.shape.batched ? first_row * ref.shape.width : 0);
  }
  Broadcast operand(const Ref& ref, const Shape& as, std::int64_t first_row) const;

  std::vector<Place> places_;
  float epsilon_;
  std::vector<Op> ops_;
  std::vector<Drop> drops_;
  std::vector<std::shared_ptr<const FunctionCall>> functions_;  ///< whose expressions they are
  std::vector<float> numbers_;
  Ref result_, dx_;
  std::vector<Ref> forward_slots_, backward_slots_;  ///< by the pass that first writes them
  std::vector<Group> forward_, backward_;
  // Of the pass at work:
  std::int64_t rows_ = 0;
  std::vector<float*> bases_;  ///< of x, dy, the parameters, their gradients, the numbers, the slots; only slots and gradients are written
  std::vector<const float*> masks_;
  std::vector<float> sums_;
};

/// A layer that is a formula.
class FormulaFeedForward final : public FeedForward {
 public:
  FormulaFeedForward(const Declare& declare, std::int64_t d_model, const FormulaConfig& config, std::uint32_t site);
  const float* forward(Pass& pass, std::int64_t rows, const float* x) override { return program_.forward(pass, rows, x); }
  const float* backward(Pass& pass, const float* dy, const AuxiliaryValues&) override { return program_.backward(pass, dy); }

 private:
  FormulaProgram program_;
};

/// E formulas, each for its own rows: expert e owns rows offsets[e] … offsets[e + 1] - 1.
class FormulaExperts {
 public:
  FormulaExperts(const Declare& declare, std::int64_t d_model, const MoeConfig& config, std::uint32_t site);
  /// x: (rows, D) → (rows, D)
  const float* forward(Pass& pass, const std::int64_t* offsets, const float* x);
  const float* backward(Pass& pass, const std::int64_t* offsets, const float* dy);

 private:
  std::int64_t d_model_;
  std::vector<FormulaProgram> experts_;
};

}  // namespace ffn::fused
