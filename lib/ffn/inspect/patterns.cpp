#include "ffn/inspect/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace ffn::inspect {

namespace {

constexpr std::int64_t kFewKinds = 16;  // of sequences of a small alphabet
constexpr std::size_t kMostVectors = 64;

TokenKinds kinds_of_vectors(const Inputs& inputs) {
  TokenKinds out;
  std::map<std::vector<float>, std::int64_t> known;
  const auto width = static_cast<std::ptrdiff_t>(inputs.shape.input_width);
  for (std::int64_t n = 0; n < inputs.count; ++n) {
    const auto first = inputs.vectors.begin() + n * width;
    const auto [kind, is_new] = known.insert({{first, first + width}, static_cast<std::int64_t>(out.names.size())});
    if (is_new && known.size() > kMostVectors) return {};
    if (is_new) {
      out.names.push_back(inputs.token_name(n));
      out.counts.push_back(0);
    }
    out.of_token.push_back(kind->second);
    ++out.counts[static_cast<std::size_t>(kind->second)];
  }
  return out;
}

// The last k tokens, k as large as V^k ≤ kFewKinds allows.
TokenKinds kinds_of_sequences(const Inputs& inputs) {
  TokenKinds out;
  const std::int64_t vocabulary = inputs.shape.input_width;
  std::int64_t kinds = vocabulary;
  for (; vocabulary > 1 && kinds * vocabulary <= kFewKinds && out.tokens_each < inputs.length; kinds *= vocabulary) ++out.tokens_each;
  out.counts.assign(static_cast<std::size_t>(kinds), 0);
  out.names.resize(out.counts.size());
  for (std::int64_t n = 0; n < inputs.num_tokens(); ++n) {
    if (n % inputs.length + 1 < out.tokens_each) {
      out.of_token.push_back(-1);
      continue;
    }
    std::int64_t kind = 0;
    std::string name;
    for (std::int64_t i = n - out.tokens_each + 1; i <= n; ++i) {
      kind = kind * vocabulary + inputs.tokens[static_cast<std::size_t>(i)];
      name += inputs.token_name(i);
    }
    out.of_token.push_back(kind);
    if (++out.counts[static_cast<std::size_t>(kind)] == 1)
      out.names[static_cast<std::size_t>(kind)] = out.tokens_each > 1 ? "…" + name : name;
  }
  return out;
}

}  // namespace

TokenKinds token_kinds(const Inputs& inputs) { return inputs.shape.tokens ? kinds_of_sequences(inputs) : kinds_of_vectors(inputs); }

Patterns patterns_of(const HiddenRows& hidden, const TokenKinds& kinds, std::size_t most_kinds, std::size_t most_neurons) {
  const auto width = static_cast<std::size_t>(hidden.width), num_kinds = kinds.names.size();
  std::vector<double> sums(num_kinds * width, 0.0);
  std::vector<std::int64_t> seen(num_kinds, 0);
  for (std::size_t row = 0; row < hidden.token.size() && num_kinds > 0; ++row) {
    const auto kind = kinds.of_token[static_cast<std::size_t>(hidden.token[row])];
    if (kind < 0) continue;
    ++seen[static_cast<std::size_t>(kind)];
    for (std::size_t i = 0; i < width; ++i)
      sums[static_cast<std::size_t>(kind) * width + i] += static_cast<double>(hidden.hidden[row * width + i]);
  }
  Patterns out;
  if (!std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); })) return out;
  for (std::size_t k = 0; k < num_kinds; ++k) {
    if (seen[k] > 0) out.kinds.push_back(static_cast<std::int64_t>(k));
  }
  if (out.kinds.size() > most_kinds) {
    std::stable_sort(out.kinds.begin(), out.kinds.end(),
                     [&](auto a, auto b) { return seen[static_cast<std::size_t>(a)] > seen[static_cast<std::size_t>(b)]; });
    out.kinds.resize(most_kinds);
    std::sort(out.kinds.begin(), out.kinds.end());
  }
  const auto mean = [&](std::int64_t kind, std::int64_t i) {
    return sums[static_cast<std::size_t>(kind) * width + static_cast<std::size_t>(i)] /
           static_cast<double>(seen[static_cast<std::size_t>(kind)]);
  };
  std::vector<double> spread(width, 0.0);
  std::vector<std::size_t> peak(width, 0);
  for (std::size_t i = 0; i < width && !out.kinds.empty(); ++i) {
    double low = INFINITY, high = -INFINITY;
    for (std::size_t k = 0; k < out.kinds.size(); ++k) {
      const double x = mean(out.kinds[k], static_cast<std::int64_t>(i));
      low = std::min(low, x);
      if (x > high) {
        high = x;
        peak[i] = k;
      }
    }
    spread[i] = high - low;
  }
  out.neurons.resize(width);
  std::iota(out.neurons.begin(), out.neurons.end(), 0);
  const auto at = [](const auto& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
  if (width > most_neurons) {
    std::stable_sort(out.neurons.begin(), out.neurons.end(), [&](auto a, auto b) { return at(spread, a) > at(spread, b); });
    out.neurons.resize(most_neurons);
  }
  std::stable_sort(out.neurons.begin(), out.neurons.end(),
                   [&](auto a, auto b) { return at(peak, a) != at(peak, b) ? at(peak, a) < at(peak, b) : at(spread, a) > at(spread, b); });
  for (const auto kind : out.kinds) {
    for (const auto i : out.neurons) out.mean.push_back(mean(kind, i));
  }
  return out;
}

}  // namespace ffn::inspect
