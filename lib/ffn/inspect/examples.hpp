// Examples of a neuron: its strongest tokens in context, and others, because the strongest alone mislead.
#pragma once

#include "ffn/inspect/capture.hpp"

namespace ffn::inspect {

/// A token and those before it in its example.
struct Example {
  std::int64_t token = 0;
  double activation = 0;
  std::vector<std::string> names;  ///< of the last tokens up to this one, as they are ("\n", " "); a vector is one
  std::vector<float> along;        ///< the neuron's activation on each; not a number where its expert did not see it
};

struct NeuronExamples {
  std::vector<Example> top;     ///< by h, in a gated layer by |h|; of those that end alike the first
  std::vector<Example> middle;  ///< at the quantiles 0.9, 0.75, 0.5 and 0.25 of what it fires on
  std::vector<Example> random;  ///< of all tokens
};

struct ExampleLimits {
  std::size_t top = 8, random = 4;  ///< random 0: the top alone
  std::int64_t before = 24;         ///< tokens of a prefix that are kept, itself among them
};

NeuronExamples examples_of(const HiddenRows& hidden, std::int64_t neuron, const Inputs& inputs, const ExampleLimits& limits = {});

}  // namespace ffn::inspect
