// Row-wise functions and optimizer updates, compiled once per instruction set (FFN_ISA). Plain loops that compilers
// vectorise; sums run in kLanes partial sums, because a compiler may not reorder a sum by itself.
#include <cmath>
#include <cstring>

#include "ffn/kernels/kernels.hpp"
#include "ffn/kernels/scalar.hpp"

namespace ffn::FFN_ISA {
namespace {

using std::int64_t;

constexpr int64_t kLanes = 16;

/// The lanes combined, halves with halves; written out because a loop over widths is not unrolled.
template <class Combine>
inline float fold(float* lane, const Combine& combine) {
  for (int64_t j = 0; j < 8; ++j) lane[j] = combine(lane[j], lane[j + 8]);
  for (int64_t j = 0; j < 4; ++j) lane[j] = combine(lane[j], lane[j + 4]);
  for (int64_t j = 0; j < 2; ++j) lane[j] = combine(lane[j], lane[j + 2]);
  return combine(lane[0], lane[1]);
}

/// Σ f(i) over i < n.
template <class F>
inline float sum(int64_t n, const F& f) {
  float lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lane[j] += f(i + j);
  }
  for (int64_t j = 0; i < n; ++i, ++j) lane[j] += f(i);
  return fold(lane, [](float a, float b) { return a + b; });
}

/// The largest of n ≥ 1 values. A NaN need not show: the exponentials that follow carry it on.
inline float largest(int64_t n, const float* x) {
  float lane[kLanes];
  for (float& value : lane) value = x[0];
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lane[j] = lane[j] < x[i + j] ? x[i + j] : lane[j];
  }
  for (; i < n; ++i) lane[0] = lane[0] < x[i] ? x[i] : lane[0];
  return fold(lane, [](float a, float b) { return a < b ? b : a; });
}

/// ln x for x ≥ 1.
inline float log_(float x) {
  std::int32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const auto exponent = static_cast<float>((bits >> 23) - 127);
  bits = (bits & 0x007fffff) | 0x3f800000;
  float mantissa;
  std::memcpy(&mantissa, &bits, sizeof mantissa);
  return unless_nan(x, fma_(exponent, 0.69314718056f, log1p_(mantissa - 1.0f)));
}

void add(int64_t n, const float* a, const float* b, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

void multiply(int64_t n, const float* a, const float* b, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = a[i] * b[i];
}

void axpy(int64_t n, float s, const float* x, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] += s * x[i];
}

float dot(int64_t n, const float* a, const float* b) {
  return sum(n, [&](int64_t i) { return a[i] * b[i]; });
}

// Nothing is carried from one element to the next, also where `out` is an operand.
template <Arithmetic How, bool Accumulate, int ACol, int BCol>
inline void combine_row(int64_t n, const float* a, const float* b, float* out) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const float u = a[ACol * j];
    float y = u;
    if constexpr (How == Arithmetic::add) y = u + b[BCol * j];
    if constexpr (How == Arithmetic::subtract) y = u - b[BCol * j];
    if constexpr (How == Arithmetic::multiply) y = u * b[BCol * j];
    if constexpr (How == Arithmetic::divide) y = u / b[BCol * j];
    out[j] = Accumulate ? out[j] + y : y;
  }
}

template <Arithmetic How, bool Accumulate, int ACol, int BCol>
void combine_rows(int64_t rows, int64_t cols, const Broadcast& a, const Broadcast& b, float* out) {
  if (ACol == 1 && BCol == 1 && a.row == cols && b.row == cols)
    return combine_row<How, Accumulate, ACol, BCol>(rows * cols, a.data, b.data, out);
  if (ACol == 1 && BCol == 0 && a.row == cols && b.row == 0)
    return combine_row<How, Accumulate, ACol, BCol>(rows * cols, a.data, b.data, out);
  for (int64_t i = 0; i < rows; ++i) combine_row<How, Accumulate, ACol, BCol>(cols, a.data + i * a.row, b.data + i * b.row, out + i * cols);
}

template <Arithmetic How, bool Accumulate>
void combine_columns(int64_t rows, int64_t cols, const Broadcast& a, const Broadcast& b, float* out) {
  if (a.col && b.col) combine_rows<How, Accumulate, 1, 1>(rows, cols, a, b, out);
  else if (a.col) combine_rows<How, Accumulate, 1, 0>(rows, cols, a, b, out);
  else if (b.col) combine_rows<How, Accumulate, 0, 1>(rows, cols, a, b, out);
  else combine_rows<How, Accumulate, 0, 0>(rows, cols, a, b, out);
}

void combine(Arithmetic how, bool accumulate, int64_t rows, int64_t cols, const Broadcast& a, const Broadcast& b, float* out) {
  const auto with = [&](auto plain, auto added) { (accumulate ? added : plain)(rows, cols, a, b, out); };
  switch (how) {
    case Arithmetic::copy:
      return with(combine_columns<Arithmetic::copy, false>, combine_columns<Arithmetic::copy, true>);
    case Arithmetic::add:
      return with(combine_columns<Arithmetic::add, false>, combine_columns<Arithmetic::add, true>);
    case Arithmetic::subtract:
      return with(combine_columns<Arithmetic::subtract, false>, combine_columns<Arithmetic::subtract, true>);
    case Arithmetic::multiply:
      return with(combine_columns<Arithmetic::multiply, false>, combine_columns<Arithmetic::multiply, true>);
    case Arithmetic::divide:
      return with(combine_columns<Arithmetic::divide, false>, combine_columns<Arithmetic::divide, true>);
  }
}

void add_row_sums(int64_t rows, int64_t cols, const float* x, float* out) {
  for (int64_t i = 0; i < rows; ++i, x += cols) out[i] += sum(cols, [&](int64_t j) { return x[j]; });
}

void normalise(int64_t rows, int64_t cols, float epsilon, bool centre, const float* x, float* y, float* inverse) {
  const float one = 1.0f / static_cast<float>(cols);
  for (int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    const float mean = centre ? one * sum(cols, [&](int64_t j) { return x[j]; }) : 0.0f;
    const float variance = one * sum(cols, [&](int64_t j) { return (x[j] - mean) * (x[j] - mean); });
    const float scale = 1.0f / std::sqrt(variance + epsilon);
    inverse[i] = scale;
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) y[j] = (x[j] - mean) * scale;
  }
}

void normalise_backward(int64_t rows, int64_t cols, bool centre, const float* dy, const float* y, const float* inverse, float* dx) {
  const float one = 1.0f / static_cast<float>(cols);
  for (int64_t i = 0; i < rows; ++i, dy += cols, y += cols, dx += cols) {
    const float mean = centre ? one * sum(cols, [&](int64_t j) { return dy[j]; }) : 0.0f;
    const float slope = one * dot(cols, dy, y);
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) dx[j] = inverse[i] * (dy[j] - mean - y[j] * slope);
  }
}

// Columns in strips that stay in registers, two rows at a time.
template <int64_t Width>
inline void column_strip(int64_t rows, int64_t cols, const float* x, float* out) {
  float even[Width] = {}, odd[Width] = {};
  int64_t i = 0;
  for (; i + 2 <= rows; i += 2) {
    for (int64_t j = 0; j < Width; ++j) even[j] += x[i * cols + j];
    for (int64_t j = 0; j < Width; ++j) odd[j] += x[(i + 1) * cols + j];
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < Width; ++j) even[j] += x[i * cols + j];
  }
  for (int64_t j = 0; j < Width; ++j) out[j] = even[j] + odd[j];
}

void column_sums(int64_t rows, int64_t cols, const float* x, float* out) {
  int64_t j = 0;
  for (; j + 32 <= cols; j += 32) column_strip<32>(rows, cols, x + j, out + j);
  for (; j + 8 <= cols; j += 8) column_strip<8>(rows, cols, x + j, out + j);
  for (; j < cols; ++j) column_strip<1>(rows, cols, x + j, out + j);
}

// Whole rows, masked or not, and the exponentials of all rows in one loop: short loops have long scalar tails.
void softmax(int64_t rows, int64_t cols, float scale, int64_t seen, float* x) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = x + i * cols;
    if (seen > 0) {
      for (int64_t j = seen + i; j < cols; ++j) row[j] = -HUGE_VALF;
    }
    const float top = largest(cols, row);
    for (int64_t j = 0; j < cols; ++j) row[j] = scale * (row[j] - top);
  }
  for (int64_t i = 0; i < rows * cols; ++i) x[i] = exp_(x[i]);
  for (int64_t i = 0; i < rows; ++i) {
    float* row = x + i * cols;
    const float inverse = 1.0f / sum(cols, [&](int64_t j) { return row[j]; });
    for (int64_t j = 0; j < cols; ++j) row[j] *= inverse;
  }
}

void softmax_backward(int64_t rows, int64_t cols, float scale, const float* p, float* dx) {
  for (int64_t i = 0; i < rows; ++i, p += cols, dx += cols) {
    const float mean = dot(cols, p, dx);
    for (int64_t j = 0; j < cols; ++j) dx[j] = scale * p[j] * (dx[j] - mean);
  }
}

void norm(int64_t rows, int64_t cols, float epsilon, const float* x, const float* weight, const float* bias, float* y, float* normalised,
          float* inverse) {
  const float one = 1.0f / static_cast<float>(cols);
  for (int64_t i = 0; i < rows; ++i, x += cols, y += cols, normalised += cols) {
    const float mean = bias ? one * sum(cols, [&](int64_t j) { return x[j]; }) : 0.0f;
    const float variance = one * sum(cols, [&](int64_t j) { return (x[j] - mean) * (x[j] - mean); });
    const float scale = 1.0f / std::sqrt(variance + epsilon);
    inverse[i] = scale;
    for (int64_t j = 0; j < cols; ++j) normalised[j] = (x[j] - mean) * scale;
    if (bias) {
      for (int64_t j = 0; j < cols; ++j) y[j] = normalised[j] * weight[j] + bias[j];
    } else {
      for (int64_t j = 0; j < cols; ++j) y[j] = normalised[j] * weight[j];
    }
  }
}

void norm_backward(int64_t rows, int64_t cols, const float* dy, const float* weight, const float* normalised, const float* inverse,
                   float* dx, float* dweight, float* dbias) {
  const float one = 1.0f / static_cast<float>(cols);
  for (int64_t i = 0; i < rows; ++i, dy += cols, normalised += cols, dx += cols) {
    const float mean = dbias ? one * dot(cols, dy, weight) : 0.0f;
    const float slope = one * sum(cols, [&](int64_t j) { return dy[j] * weight[j] * normalised[j]; });
    for (int64_t j = 0; j < cols; ++j) dx[j] = inverse[i] * (dy[j] * weight[j] - mean - normalised[j] * slope);
    for (int64_t j = 0; j < cols; ++j) dweight[j] += dy[j] * normalised[j];
    if (dbias) {
      for (int64_t j = 0; j < cols; ++j) dbias[j] += dy[j];
    }
  }
}

/// Σ of float values in double, in kLanes lanes.
inline double sum_in_double(int64_t n, const float* x) {
  double lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) lane[j] += static_cast<double>(x[i + j]);
  }
  for (int64_t j = 0; i < n; ++i, ++j) lane[j] += static_cast<double>(x[i]);
  double total = 0;
  for (const double part : lane) total += part;
  return total;
}

// Two classes, as most tasks here have: nothing goes over classes, so that vectors hold rows. Beside the largest there is one more,
// e to which is at most 1 or NaN.
LossSums cross_entropy_of_two(int64_t rows, const float* logits, const int64_t* labels, int64_t mean_over, float* dlogits, float* scratch) {
  LossSums sums;
  float* power = scratch;           // (rows, 2): logit - largest, then e to that
  float* first = power + 2 * rows;  // the class that is largest, then the sum of its row's powers
  float* loss = first + rows;       // what each row adds to the loss
  float* label = loss + rows;       // 0, 1, or -1 where it is not scored
  for (int64_t i = 0; i < rows; ++i) {
    sums.scored += labels[i] >= 0;
    label[i] = labels[i] < 0 ? -1.0f : labels[i] == 0 ? 0.0f : 1.0f;
  }
  int64_t correct = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < rows; ++i) {
    const float zero = logits[2 * i], one = logits[2 * i + 1], top = zero < one ? one : zero;
    power[2 * i] = zero - top;
    power[2 * i + 1] = one - top;
    first[i] = zero < one ? 1.0f : 0.0f;
    correct += label[i] == first[i];
    loss[i] = label[i] == 0.0f ? zero - top : one - top;
  }
  sums.correct = correct;
  for (int64_t i = 0; i < 2 * rows; ++i) power[i] = exp_(power[i]);
#pragma GCC ivdep
  for (int64_t i = 0; i < rows; ++i) {
    const float zero = power[2 * i], one = power[2 * i + 1], total = zero + one, rest = first[i] == 0.0f ? one : zero;
    const float log_total = unless_nan(total, log1p_(rest));
    loss[i] = label[i] >= 0.0f ? log_total - loss[i] : 0.0f;
    first[i] = total;
  }
  sums.loss = sum_in_double(rows, loss);
  if (!dlogits) return sums;

  const float weight = 1.0f / static_cast<float>(mean_over > 0 ? mean_over : sums.scored);
#pragma GCC ivdep
  for (int64_t i = 0; i < rows; ++i) {
    const float scale = label[i] >= 0.0f ? weight / first[i] : 0.0f;
    dlogits[2 * i] = scale * power[2 * i] - (label[i] == 0.0f ? weight : 0.0f);
    dlogits[2 * i + 1] = scale * power[2 * i + 1] - (label[i] == 1.0f ? weight : 0.0f);
  }
  return sums;
}

// Row i less its largest value goes to `shifted`. → the first place of the largest.
inline int64_t shift_row(int64_t classes, const float* row, float* shifted) {
  const float top = largest(classes, row);
  int64_t first = 0;
  while (first + 1 < classes && !(row[first] == top)) ++first;
  for (int64_t j = 0; j < classes; ++j) shifted[j] = row[j] - top;
  return first;
}

LossSums cross_entropy(int64_t rows, int64_t classes, const float* logits, const int64_t* labels, int64_t mean_over, float* dlogits,
                       float* scratch) {
  if (classes == 2) return cross_entropy_of_two(rows, logits, labels, mean_over, dlogits, scratch);
  LossSums sums;
  float* power = scratch;                   // (rows, classes): logit - largest, then e to that
  float* total = scratch + rows * classes;  // their sums per row
  float* loss = total + rows;               // what each row adds to the loss
  float* rest = loss + rows;                // the sums without the largest, which is 1: a float has no 1 + rest below 6e-8
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t first = shift_row(classes, logits + i * classes, power + i * classes);
    const bool scored = labels[i] >= 0;
    sums.scored += scored;
    sums.correct += scored && labels[i] == first;
    loss[i] = scored ? power[i * classes + labels[i]] : 0.0f;
    rest[i] = static_cast<float>(first);
  }
  for (int64_t i = 0; i < rows * classes; ++i) power[i] = exp_(power[i]);
  for (int64_t i = 0; i < rows; ++i) {
    float& top = power[i * classes + static_cast<int64_t>(rest[i])];
    const float one = top;  // or NaN
    top = 0.0f;
    rest[i] = sum(classes, [&](int64_t j) { return power[i * classes + j]; });
    total[i] = rest[i] + one;
    top = one;
  }
  for (int64_t i = 0; i < rows; ++i) {
    const float log_total = unless_nan(total[i], select(rest[i] <= 1.0f, log1p_(rest[i]), log_(total[i])));
    loss[i] = labels[i] >= 0 ? log_total - loss[i] : 0.0f;
  }
  sums.loss = sum_in_double(rows, loss);
  if (!dlogits) return sums;

  const float weight = 1.0f / static_cast<float>(mean_over > 0 ? mean_over : sums.scored);
  for (int64_t i = 0; i < rows; ++i) total[i] = labels[i] >= 0 ? weight / total[i] : 0.0f;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < classes; ++j) dlogits[i * classes + j] = total[i] * power[i * classes + j];
    if (labels[i] >= 0) dlogits[i * classes + labels[i]] -= weight;
  }
  return sums;
}

double sum_of_squares(std::size_t n, const float* x) {
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lane[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  }
  double total = 0;
  for (const double part : lane) total += part;
  for (; i < n; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return total;
}

void adam_step(std::size_t n, const AdamStep& s, const float* grad, float* param, float* mean, float* square) {
  const float step_size = s.step_size, root_scale = s.root_scale, keep = s.keep, l2 = s.l2, b1 = s.beta1, b2 = s.beta2,
              c1 = s.one_minus_beta1, c2 = s.one_minus_beta2, eps = s.epsilon, scale = s.grad_scale;
  for (std::size_t i = 0; i < n; ++i) {
    const float p = param[i] * keep;
    const float g = grad[i] * scale + l2 * param[i];
    const float m = b1 * mean[i] + c1 * g;
    const float v = b2 * square[i] + c2 * (g * g);
    mean[i] = m;
    square[i] = v;
    param[i] = p - step_size * m / (std::sqrt(v) * root_scale + eps);
  }
}

void sgd_step(std::size_t n, const SgdStep& s, const float* grad, float* param, float* velocity) {
  const auto lr = static_cast<float>(s.lr), momentum = static_cast<float>(s.momentum), l2 = static_cast<float>(s.weight_decay);
  const auto scale = static_cast<float>(s.grad_scale);
  for (std::size_t i = 0; i < n; ++i) {
    const float g = grad[i] * scale + l2 * param[i];
    const float v = momentum * velocity[i] + g;  // velocity starts at 0, so the first one is g
    velocity[i] = v;
    param[i] -= lr * (s.nesterov ? g + momentum * v : v);
  }
}

void lion_step(std::size_t n, const LionStep& s, const float* grad, float* param, float* mean) {
  const float lr = s.lr, keep = s.keep, b1 = s.beta1, b2 = s.beta2, c1 = s.one_minus_beta1, c2 = s.one_minus_beta2, scale = s.grad_scale;
  for (std::size_t i = 0; i < n; ++i) {
    const float g = grad[i] * scale, m = mean[i];
    const float u = b1 * m + c1 * g;
    mean[i] = b2 * m + c2 * g;
    param[i] = param[i] * keep - lr * (static_cast<float>(u > 0) - static_cast<float>(u < 0));
  }
}

}  // namespace

Kernels kernel_rows() {
  return {gemm,          combine,     add_row_sums, normalise,      normalise_backward, add,      multiply,
          axpy,          dot,         column_sums,  softmax,        softmax_backward,   norm,     norm_backward,
          cross_entropy, random_bits, dropout_mask, sum_of_squares, adam_step,          sgd_step, lion_step};
}

}  // namespace ffn::FFN_ISA
