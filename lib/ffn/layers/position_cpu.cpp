#include "ffn/layers/position_cpu.hpp"

#include <cmath>
#include <type_traits>

namespace ffn::cpu {

namespace {

double angle(std::int64_t position, std::int64_t pair, std::int64_t width, double base) {
  return static_cast<double>(position) * std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
}

}  // namespace

std::vector<float> sinusoids(std::int64_t length, std::int64_t d_model) {
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(length * d_model));
  for (std::int64_t t = 0; t < length; ++t) {
    for (std::int64_t j = 0; j < d_model; ++j) {
      const double x = angle(t, j / 2, d_model, 10000);
      table.push_back(static_cast<float>(j % 2 == 0 ? std::sin(x) : std::cos(x)));
    }
  }
  return table;
}

Rotary::Rotary(std::int64_t max_length, std::int64_t head_width, double base, bool in_pairs) : half_(head_width / 2), in_pairs_(in_pairs) {
  for (std::int64_t t = 0; t < max_length; ++t) {
    for (std::int64_t i = 0; i < half_; ++i) {
      const double x = angle(t, i, head_width, base);
      cos_.push_back(static_cast<float>(std::cos(x)));
      sin_.push_back(static_cast<float>(std::sin(x)));
    }
  }
}

void Rotary::turn(std::int64_t rows, std::int64_t sequence_length, std::int64_t heads, float* x, bool back) const {
  // The numbers of pair i stand at i · step and `apart` behind it; with constants the compiler makes vectors of the halves.
  const auto turn_rows = [&](auto step, std::int64_t apart) {
    const float sign = back ? -1.0f : 1.0f;
    for (std::int64_t n = 0; n < rows; ++n) {
      const float *cos = cos_.data() + n % sequence_length * half_, *sin = sin_.data() + n % sequence_length * half_;
      for (std::int64_t h = 0; h < heads; ++h, x += 2 * half_) {
        for (std::int64_t i = 0; i < half_; ++i) {
          float &first = x[i * step], &second = x[i * step + apart];
          const float a = first, b = second, s = sign * sin[i];
          first = a * cos[i] - b * s;
          second = a * s + b * cos[i];
        }
      }
    }
  };
  if (in_pairs_) turn_rows(std::integral_constant<std::int64_t, 2>(), 1);
  else turn_rows(std::integral_constant<std::int64_t, 1>(), half_);
}

}  // namespace ffn::cpu
