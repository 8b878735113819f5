#include "ffn/kernels/kernels.hpp"

#include <cmath>

#include "ffn/kernels/isa.hpp"

namespace ffn {

namespace {

const Kernels chosen = chosen_build().kernel_rows();  // before main: a step asks some fifty times

}  // namespace

const Kernels& kernels() { return chosen; }

double bias_correction(double beta, long long step_count) { return 1 - std::pow(beta, static_cast<double>(step_count)); }

}  // namespace ffn
