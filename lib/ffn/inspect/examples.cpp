#include "ffn/inspect/examples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/base/random.hpp"

namespace ffn::inspect {

namespace {

constexpr double kQuantiles[] = {0.9, 0.75, 0.5, 0.25};
constexpr std::size_t kMostCandidates = 8192;  // that are looked at for examples that differ
constexpr std::int64_t kAlike = 6;             // examples whose last tokens are the same show the same

class Finder {
 public:
  Finder(const HiddenRows& hidden, std::int64_t neuron, const Inputs& inputs, const ExampleLimits& limits)
      : hidden_(hidden), neuron_(neuron), inputs_(inputs), limits_(limits), order_(static_cast<std::size_t>(hidden.rows())) {
    std::iota(order_.begin(), order_.end(), 0);
    order_.erase(std::remove_if(order_.begin(), order_.end(), [&](auto row) { return !std::isfinite(at(row)); }), order_.end());
  }

  NeuronExamples find() {
    NeuronExamples out;
    if (order_.empty()) return out;
    take_top(out.top);
    if (order_.size() <= limits_.top || limits_.random == 0) return out;
    take_middle(out.middle);
    RandomStream random(static_cast<std::uint64_t>(neuron_), name_hash("inspect"));
    for (std::size_t i = 0; i < std::min(limits_.random, order_.size()); ++i)
      out.random.push_back(example(static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(order_.size())))));
    return out;
  }

 private:
  float at(std::int64_t row) const { return hidden_.hidden[static_cast<std::size_t>(row * hidden_.width + neuron_)]; }
  float score(std::int64_t row) const { return hidden_.gated() ? std::abs(at(row)) : at(row); }
  bool stronger(std::int64_t a, std::int64_t b) const { return score(a) != score(b) ? score(a) > score(b) : a < b; }
  bool fires(std::int64_t row) const { return hidden_.fires_by()[static_cast<std::size_t>(row * hidden_.width + neuron_)] > 0; }

  // First token of an example's part that ends in `token` and has at most so many.
  std::int64_t begin_of(std::int64_t token, std::int64_t most) const {
    return std::max(token / inputs_.length * inputs_.length, token - most + 1);
  }

  bool alike(std::int64_t a, std::int64_t b) const {
    if (!inputs_.shape.tokens) return false;
    const std::int64_t first = begin_of(a, kAlike), count = a - first + 1;
    if (count != b - begin_of(b, kAlike) + 1) return false;
    return std::equal(inputs_.tokens.begin() + static_cast<std::ptrdiff_t>(first),
                      inputs_.tokens.begin() + static_cast<std::ptrdiff_t>(a + 1),
                      inputs_.tokens.begin() + static_cast<std::ptrdiff_t>(b - count + 1));
  }

  void take_top(std::vector<Example>& out) {
    // If many end alike, others are further down.
    std::size_t sorted = 0;
    while (out.size() < limits_.top && sorted < std::min(order_.size(), kMostCandidates)) {
      const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(sorted);
      sorted = std::min(order_.size(), std::max(2 * sorted, limits_.top * 8));
      const auto end = order_.begin() + static_cast<std::ptrdiff_t>(sorted);
      std::partial_sort(begin, end, order_.end(), [&](auto a, auto b) { return stronger(a, b); });
      for (auto row = begin; row != end && out.size() < limits_.top; ++row) {
        const auto token = hidden_.token[static_cast<std::size_t>(*row)];
        if (std::none_of(out.begin(), out.end(), [&](const Example& before) { return alike(token, before.token); }))
          out.push_back(example(*row));
      }
    }
  }

  void take_middle(std::vector<Example>& out) {
    std::vector<std::int64_t> firing;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(firing), [&](auto row) { return fires(row); });
    if (firing.size() < 8) return;  // the strongest are all there is
    for (const double quantile : kQuantiles) {
      const auto nth = firing.begin() + static_cast<std::ptrdiff_t>((1 - quantile) * static_cast<double>(firing.size() - 1));
      std::nth_element(firing.begin(), nth, firing.end(), [&](auto a, auto b) { return stronger(a, b); });
      out.push_back(example(*nth));
    }
  }

  Example example(std::int64_t row) const {
    Example out;
    out.token = hidden_.token[static_cast<std::size_t>(row)];
    out.activation = static_cast<double>(at(row));
    for (std::int64_t n = begin_of(out.token, limits_.before); n <= out.token; ++n) {
      const auto id = inputs_.shape.tokens ? static_cast<std::size_t>(inputs_.tokens[static_cast<std::size_t>(n)]) : 0;
      out.names.push_back(inputs_.characters.empty() ? inputs_.token_name(n) : inputs_.characters[id]);
      const auto seen = std::lower_bound(hidden_.token.begin(), hidden_.token.end(), n);
      out.along.push_back(seen != hidden_.token.end() && *seen == n ? at(seen - hidden_.token.begin()) : NAN);
    }
    return out;
  }

  const HiddenRows& hidden_;
  std::int64_t neuron_;
  const Inputs& inputs_;
  const ExampleLimits& limits_;
  std::vector<std::int64_t> order_;
};

}  // namespace

NeuronExamples examples_of(const HiddenRows& hidden, std::int64_t neuron, const Inputs& inputs, const ExampleLimits& limits) {
  return Finder(hidden, neuron, inputs, limits).find();
}

}  // namespace ffn::inspect
