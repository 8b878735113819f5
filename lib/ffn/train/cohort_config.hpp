// What the training loop takes from the configs of a cohort's runs.
#pragma once

#include "ffn/config/run_config.hpp"

namespace ffn {

/// What the objective multiplies the balance loss by; 0 without a router.
double balance_weight(const FfnConfig& ffn);

/// Share of the hidden layer that dropout zeroes; 0 without an FFN.
double dropout_rate(const FfnConfig& ffn);

}  // namespace ffn
