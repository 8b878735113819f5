#include "ffn/kernels/kernels.hpp"

#include "ffn/kernels/isa.hpp"

namespace ffn {

namespace {

const Kernels chosen = chosen_build().kernel_rows();  // before main: a step asks some fifty times

}  // namespace

const Kernels& kernels() { return chosen; }

}  // namespace ffn
