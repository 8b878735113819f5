// Arithmetic on raw float memory for the CPU training step: matrix products, row-wise functions, optimizer updates.
// Torch-free; compiled once per instruction set and chosen at run time, like the activations. Every result depends on
// the arguments alone, never on what was computed before or beside it: the same call gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffn {

/// C = A·B, C = bias + A·B or C += A·B. Element (i, j) of a matrix stands at i·row + j·col, so a transposed matrix is one
/// with its strides exchanged; C is row-major. Nothing may overlap C.
struct Gemm {
  std::int64_t m, n, k;  ///< C is m×n, A m×k, B k×n
  const float* a;
  std::int64_t a_row, a_col;
  const float* b;
  std::int64_t b_row, b_col;
  float* c;
  std::int64_t c_row;
  const float* bias = nullptr;  ///< n values, added to every row of C
  bool accumulate = false;      ///< adds to what C holds; `bias` is ignored then
};

/// Sums over the scored positions of one batch.
struct LossSums {
  double loss = 0;
  std::int64_t correct = 0, scored = 0;  ///< correct: of classes, those whose largest output is the label's
  double squared_error = 0;              ///< of vectors: MeanSquaredError, whatever the loss; an evaluation's alone
  static constexpr std::size_t kMostOutputMetrics = 8;
  double of_outputs[kMostOutputMetrics] = {};  ///< of classes, an evaluation's: by the rows of output_metrics()

  LossSums& operator+=(const LossSums& other) {
    loss += other.loss;
    correct += other.correct;
    scored += other.scored;
    squared_error += other.squared_error;
    for (std::size_t i = 0; i < kMostOutputMetrics; ++i) of_outputs[i] += other.of_outputs[i];
    return *this;
  }
};

/// One Adam step on n parameters; torch.optim's formulas, with what is equal for all parameters worked out beforehand.
struct AdamStep {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon;
  float step_size;   ///< lr/(1 - β₁ᵗ)
  float root_scale;  ///< 1/√(1 - β₂ᵗ)
  float keep;        ///< AdamW: p ← p·(1 - lr·wd)
  float l2;          ///< Adam: g ← g + wd·p
  float grad_scale;  ///< gradient clipping: g ← grad_scale·g first
};

/// One SGD step with momentum; torch.optim's form: v ← μv + g (v = g at the first step), p ← p - lr·v, or p - lr·(g + μv)
/// with Nesterov.
struct SgdStep {
  double lr, momentum, weight_decay;
  bool nesterov;
  double grad_scale;
};

/// One step of Lion: p ← p·keep - lr·sign(β₁m + (1 - β₁)g), m ← β₂m + (1 - β₂)g; sign(0) = 0.
struct LionStep {
  float lr, beta1, one_minus_beta1, beta2, one_minus_beta2;
  float keep;        ///< 1 - lr·wd
  float grad_scale;  ///< g ← grad_scale·g first
};

enum class Arithmetic { copy, add, subtract, multiply, divide };  ///< of a and b; copy is a alone

/// A matrix to read of which rows or columns may be one and the same: element (i, j) stands at i·row + j·col, col 0 or 1.
struct Broadcast {
  const float* data;
  std::int64_t row, col;
};

struct Kernels {
  void (*gemm)(const Gemm& g);

  /// out (rows, cols) = a ∘ b, or added to it. out may be a or b where those have its layout.
  void (*combine)(Arithmetic how, bool accumulate, std::int64_t rows, std::int64_t cols, const Broadcast& a, const Broadcast& b,
                  float* out);
  /// out[i] += Σ over row i of x: (rows, cols)
  void (*add_row_sums)(std::int64_t rows, std::int64_t cols, const float* x, float* out);
  /// y = (x - mean) · inverse with inverse = 1/√(variance + epsilon) per row; without `centre` the mean counts as 0. y may be x.
  void (*normalise)(std::int64_t rows, std::int64_t cols, float epsilon, bool centre, const float* x, float* y, float* inverse);
  /// dx of it. dx may be dy.
  void (*normalise_backward)(std::int64_t rows, std::int64_t cols, bool centre, const float* dy, const float* y, const float* inverse,
                             float* dx);

  /// out[i] = a[i] + b[i], out[i] = a[i]·b[i]; out may be a or b.
  void (*add)(std::int64_t n, const float* a, const float* b, float* out);
  void (*multiply)(std::int64_t n, const float* a, const float* b, float* out);
  /// y[i] += s·x[i]
  void (*axpy)(std::int64_t n, float s, const float* x, float* y);
  /// Σ a[i]·b[i]
  float (*dot)(std::int64_t n, const float* a, const float* b);
  /// out[j] = Σ over rows of x[row][j]: the gradient of a bias. x: (rows, cols)
  void (*column_sums)(std::int64_t rows, std::int64_t cols, const float* x, float* out);

  /// In place: row i becomes softmax(scale·row i), over its first seen + i entries, or all of them where `seen` is 0; the others become 0.
  void (*softmax)(std::int64_t rows, std::int64_t cols, float scale, std::int64_t seen, float* x);
  /// In place: dx = scale·p ⊙ (dx - Σ p ⊙ dx), p the softmax's result, dx its gradient before, the scores' after.
  void (*softmax_backward)(std::int64_t rows, std::int64_t cols, float scale, const float* p, float* dx);

  /// Layer normalisation, or root-mean-square when `bias` is null. Keeps x̂ (rows, cols) and 1/σ (rows).
  void (*norm)(std::int64_t rows, std::int64_t cols, float epsilon, const float* x, const float* weight, const float* bias, float* y,
               float* normalised, float* inverse);
  /// dx (rows, cols) is written; dweight and dbias (null for RMS) are added to.
  void (*norm_backward)(std::int64_t rows, std::int64_t cols, const float* dy, const float* weight, const float* normalised,
                        const float* inverse, float* dx, float* dweight, float* dbias);

  /// Cross-entropy of row i of `logits` (rows, classes) against labels[i], rows with negative labels left out.
  /// With `dlogits`, writes the gradient of the mean over the scored rows, or over as many as `mean_over` says, of which these are
  /// a part. scratch: rows·(classes + 3) floats.
  LossSums (*cross_entropy)(std::int64_t rows, std::int64_t classes, const float* logits, const std::int64_t* labels,
                            std::int64_t mean_over, float* dlogits, float* scratch);

  /// The first n words of RandomStream(key, stream) of base/random.hpp.
  void (*random_bits)(std::uint64_t key, std::uint64_t stream, std::size_t n, std::uint32_t* bits);
  /// mask[i] = 0 with probability `rate`, else 1/(1 - rate), for i < n: the elements first … first + n - 1 of a mask without end,
  /// whose element i depends on i, rate, seed, site and step alone. rate in [0, 1).
  void (*dropout_mask)(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask,
                       std::size_t first);

  /// Σ x², in double, summed in an order that depends on n alone.
  double (*sum_of_squares)(std::size_t n, const float* x);
  void (*adam_step)(std::size_t n, const AdamStep& s, const float* grad, float* param, float* mean, float* square);
  void (*sgd_step)(std::size_t n, const SgdStep& s, const float* grad, float* param, float* velocity);
  void (*lion_step)(std::size_t n, const LionStep& s, const float* grad, float* param, float* mean);
};

/// The kernels for this processor.
const Kernels& kernels();

/// 1 - βᵗ, which Adam's moments are divided by at step t ≥ 1.
double bias_correction(double beta, long long step_count);

// One per build of gemm_rows.cpp, random_rows.cpp and kernel_rows.cpp.
namespace baseline {
void gemm(const Gemm& g);
void random_bits(std::uint64_t key, std::uint64_t stream, std::size_t n, std::uint32_t* bits);
void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask, std::size_t first);
Kernels kernel_rows();
}  // namespace baseline
namespace x86_64_v3 {
void gemm(const Gemm& g);
void random_bits(std::uint64_t key, std::uint64_t stream, std::size_t n, std::uint32_t* bits);
void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask, std::size_t first);
Kernels kernel_rows();
}  // namespace x86_64_v3
namespace x86_64_v4 {
void gemm(const Gemm& g);
void random_bits(std::uint64_t key, std::uint64_t stream, std::size_t n, std::uint32_t* bits);
void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask, std::size_t first);
Kernels kernel_rows();
}  // namespace x86_64_v4

}  // namespace ffn
