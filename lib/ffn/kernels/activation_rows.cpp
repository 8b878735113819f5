// The rows of the activation catalogue. This file is compiled once per instruction set (FFN_ISA names it) and keeps to
// plain functions and arrays, because a template shared with the rest of the program could be linked in the wrong build.
#include "ffn/kernels/activation_rows.hpp"

#include "ffn/kernels/scalar.hpp"

namespace ffn::FFN_ISA {
namespace {

// A captureless lambda keeps no state; C++17 cannot make a second one of its type, so its address is kept.
template <class F>
const F* kept = nullptr;

template <class Phi, class T>
void apply(std::size_t n, const T* z, T* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = (*kept<Phi>)(z[i]);
}

template <class Slope, class T>
void apply_slope(std::size_t n, const T* z, const T* dy, T* dz) {
  for (std::size_t i = 0; i < n; ++i) dz[i] = dy[i] * (*kept<Slope>)(z[i]);
}

// Value and slope share their common subexpressions.
template <class Phi, class Slope, class T>
void apply_both(std::size_t n, const T* z, T* y, T* slope) {
  for (std::size_t i = 0; i < n; ++i) {
    const T value = z[i];
    slope[i] = (*kept<Slope>)(value);
    y[i] = (*kept<Phi>)(value);
  }
}

// The same formula on a symbol: what it does, written down (expression.hpp).
template <class F>
Symbol recorded(Symbol z) {
  return (*kept<F>)(z);
}

template <class Phi, class Slope>
Activation row(const char* name, const char* formula, const char* source, const Phi& phi, const Slope& slope) {
  static const Phi kPhi = phi;
  static const Slope kSlope = slope;
  kept<Phi> = &kPhi;
  kept<Slope> = &kSlope;
  return {name,
          formula,
          source,
          apply<Phi, float>,
          apply_slope<Slope, float>,
          apply<Phi, double>,
          apply_slope<Slope, double>,
          apply_both<Phi, Slope, float>,
          recorded<Phi>,
          recorded<Slope>};
}

}  // namespace

// name, formula, source, φ(z), φ'(z), in the functions of scalar.hpp, whose select(condition, yes, no) stands for
// `? :`: from the one row come the vector kernels, the double ones and the form that LibTorch computes on any device.
// Comparisons are written so that NaN comes out as NaN. The rows that
// multiply z by something that goes to 0 (gelu to mish) give ∞·0 = NaN at -∞, and their slopes at ±∞: a run whose
// pre-activations are infinite has diverged, and has to show it.
std::size_t activation_rows(const Activation** rows) {
  // clang-format off
  static const Activation table[] = {
      row("identity", "z", "the linear control: an FFN without its non-linearity",
          [](auto z) { return z; }, [](auto z) { return unless_nan(z, decltype(z)(1)); }),
      row("relu", "max(0, z)", "Nair & Hinton 2010; Vaswani et al. 2017, eq. 2, arXiv:1706.03762",
          [](auto z) { return select(z < 0, decltype(z)(0), z); },
          [](auto z) { return unless_nan(z, select(z > 0, decltype(z)(1), decltype(z)(0))); }),
      row("leaky_relu", "z if z > 0, else z/100", "Maas et al. 2013",
          [](auto z) { return select(z < 0, z * decltype(z)(0.01), z); },
          [](auto z) { return unless_nan(z, select(z > 0, decltype(z)(1), decltype(z)(0.01))); }),
      row("elu", "z if z > 0, else e^z - 1", "Clevert et al. 2016, arXiv:1511.07289",
          [](auto z) { return select(z < 0, expm1_(z), z); },
          [](auto z) { return select(z < 0, exp_(z), unless_nan(z, decltype(z)(1))); }),
      row("gelu", "z·Φ(z)", "Hendrycks & Gimpel 2016, arXiv:1606.08415",
          [](auto z) { return z * normal_cdf(z); },
          [](auto z) { return normal_cdf(z) + z * decltype(z)(0.3989422804014327) * exp_(decltype(z)(-0.5) * z * z); }),
      row("gelu_tanh", "z/2·(1 + tanh(√(2/π)(z + 0.044715 z³)))", "Hendrycks & Gimpel 2016, §2, arXiv:1606.08415; GPT-2",
          [](auto z) {
            using T = decltype(z);
            return T(0.5) * z * (1 + tanh_(T(0.7978845608028654) * (z + T(0.044715) * z * z * z)));
          },
          [](auto z) {
            using T = decltype(z);
            const T t = tanh_(T(0.7978845608028654) * (z + T(0.044715) * z * z * z));
            const T near = select(abs_(z) > T(1e6), T(1e6), z);  // beyond, 1 - t² is 0, and z² would overflow: 0·∞
            return T(0.5) * (1 + t) + T(0.5) * z * (1 - t * t) * T(0.7978845608028654) * (1 + T(0.134145) * near * near);
          }),
      row("quick_gelu", "z·σ(1.702 z)", "Hendrycks & Gimpel 2016, §2, arXiv:1606.08415; CLIP",
          [](auto z) { return z * sigmoid(decltype(z)(1.702) * z); },
          [](auto z) {
            const auto s = sigmoid(decltype(z)(1.702) * z);
            return s + decltype(z)(1.702) * z * s * (1 - s);
          }),
      row("silu", "z·σ(z)", "Elfwing et al. 2018, arXiv:1702.03118; Ramachandran et al. 2017 (Swish), arXiv:1710.05941",
          [](auto z) { return z * sigmoid(z); },
          [](auto z) {
            const auto s = sigmoid(z);
            return s + z * s * (1 - s);
          }),
      row("mish", "z·tanh(ln(1 + e^z))", "Misra 2019, arXiv:1908.08681",
          [](auto z) { return z * tanh_softplus(z); },
          [](auto z) {
            const auto t = tanh_softplus(z);
            return t + z * (1 - t * t) * sigmoid(z);
          }),
      row("relu2", "max(0, z)²", "So et al. 2021 (Primer), arXiv:2109.08668",
          [](auto z) { return select(z < 0, decltype(z)(0), z * z); }, [](auto z) { return select(z < 0, decltype(z)(0), 2 * z); }),
      row("tanh", "tanh(z)", "the classic saturating unit",
          [](auto z) { return tanh_(z); },
          [](auto z) {
            const auto t = tanh_(z);
            return 1 - t * t;
          }),
      row("sigmoid", "σ(z) = 1/(1 + e^-z)", "as a gate: GLU, Dauphin et al. 2017, arXiv:1612.08083",
          [](auto z) { return sigmoid(z); },
          [](auto z) {
            const auto s = sigmoid(z);
            return s * (1 - s);
          }),
      row("softplus", "ln(1 + e^z)", "Dugas et al. 2001",
          [](auto z) { return softplus(z); }, [](auto z) { return sigmoid(z); }),
  };
  // clang-format on
  *rows = table;
  return sizeof table / sizeof *table;
}

}  // namespace ffn::FFN_ISA
