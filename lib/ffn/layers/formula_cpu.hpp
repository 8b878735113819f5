// A formula (formula/formula.hpp), as which plain and gated layers and experts are computed, too, as a program on raw memory: its
// operations forward, and backward by reverse-mode differentiation over the same list. Element-wise operations that follow each other go
// over the rows together, some at a time, so that what one wrote is still in the cache for the next; values whose last reader has been give
// their memory to later ones.
#pragma once

#include <optional>
#include <vector>

#include "ffn/formula/formula.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/feed_forward_cpu.hpp"

namespace ffn::cpu {

class FormulaProgram final : public FeedForward {
 public:
  /// `site` numbers the layer for its dropout masks. With `experts`: so many formulas, each with parameters of its own.
  FormulaProgram(const Declare& declare, const FormulaGraph& graph, std::uint32_t site, std::optional<std::int64_t> experts = std::nullopt);
  FormulaProgram(const FormulaProgram&) = delete;  // its places are those of the first
  FormulaProgram& operator=(const FormulaProgram&) = delete;

  const float* forward(Pass& pass, std::int64_t rows, const float* x) override;
  /// Rows sorted by expert: expert e owns rows offsets[e] … offsets[e + 1] - 1. Offsets are alive until backward, too.
  const float* forward(Pass& pass, const std::int64_t* offsets, const float* x);
  const float* backward(Pass& pass, const float* dy, const AuxiliaryValues&) override;

 private:
  struct Shape {
    bool batched = false;  ///< rows times as many values
    std::int64_t width = 1;
    bool operator==(const Shape& other) const { return batched == other.batched && width == other.width; }
  };
  /// Place of a value. While the program is written `index` counts values of one sort; afterwards it is an index of bases_.
  struct Ref {
    enum class Of : std::uint8_t { nothing, x, dy, parameter, gradient, number, slot };
    Of of = Of::nothing;
    int index = 0;
    Shape shape;
    std::int64_t step = 0;  ///< to the next row's, or where all rows share it to the next expert's
  };
  enum class Kind : std::uint8_t {
    // of whole values
    product,
    weight_gradient,
    input_gradient,
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
    drop,
    mask,
    zero
  };
  struct Op {
    Kind kind;
    Ref a, b, out, beside;  ///< beside: a second result (slope, 1/σ, mask) or a third operand
    Arithmetic how = Arithmetic::copy;
    bool accumulate = false, accumulate_bias = false, centre = false, transposed = false, only_drops = false;
    int matrix = -1, bias = -1;
    std::int64_t from = 0, to = 0;  ///< first columns of a and of out
    std::int64_t kept = 0;          ///< of a top_k
    const Activation* phi = nullptr;
    const Expression* expression = nullptr;  ///< of a, b and `beside`
    std::uint32_t site = 0;                  ///< of a drop
  };
  class Writer;
  static constexpr std::size_t kX = 0, kDy = 1, kFirstParameter = 2;  ///< in bases_
  /// Operations that go over the rows together.
  struct Group {
    std::size_t begin, end;
    std::int64_t tile;  ///< rows at a time; 0: one operation on all of its value
    bool all_experts;   ///< at once: nothing in it is an expert's own
  };
  /// Rows of one expert, or of all.
  struct Part {
    std::int64_t expert, first, rows;
  };
  /// A value that watchers are shown before operation `op`.
  struct Shown {
    std::size_t op;
    Value what;
    Ref ref;
  };

  static bool in_place(const Op& op);
  void share_slots(int num_values, std::size_t num_forward);
  void place_in_bases();
  void simplify();
  static bool goes_by_rows(const Op& op);
  std::vector<Group> grouped(std::size_t begin, std::size_t end) const;
  void run(Pass& pass, const std::vector<Group>& groups);
  void run(Pass& pass, const Op& op, const Part& part);
  void show(const Pass& pass, const Group& group) const;
  void add_column_sums(const Ref& of, const Part& part, bool accumulate, float* out);
  void take_slots(Pass& pass, const std::vector<Ref>& slots);
  float* memory(const Ref& ref, const Part& part) const {
    return bases_[static_cast<std::size_t>(ref.index)] + (ref.shape.batched ? part.first : part.expert) * ref.step;
  }
  Broadcast operand(const Ref& ref, const Shape& as, const Part& part) const;
  template <class T>
  T* own(int parameter, const Part& part, T* row) const;

  std::int64_t num_experts_;
  std::vector<Place> places_;        ///< of the first expert's parameters
  std::vector<std::int64_t> sizes_;  ///< of one expert's
  float epsilon_;
  std::vector<Op> ops_;
  std::vector<Shown> shown_;
  std::vector<std::shared_ptr<const FunctionCall>> functions_;  ///< whose expressions they are
  std::vector<float> numbers_;
  Ref result_, dx_;
  std::vector<Ref> forward_slots_, backward_slots_;  ///< by the pass that first writes them
  std::vector<Group> forward_, backward_;
  // State of the current pass:
  std::int64_t rows_ = 0, alone_[2] = {0, 0};  ///< offsets without experts
  const std::int64_t* offsets_ = nullptr;
  std::vector<float*> bases_;  ///< of x, dy, the parameters, their gradients, the numbers, the slots; only slots and gradients are written
  std::vector<float> sums_;
};

}  // namespace ffn::cpu
