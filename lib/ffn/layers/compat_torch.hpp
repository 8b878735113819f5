// The one place where LibTorch versions differ (1.13 to 2.14). Everything that needs LibTorch includes this header.
#pragma once

// The needed part of <torch/torch.h>: the rest (data loaders, optimizers, serialization) takes 7 s more per file.
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <functional>
#include <string>

#define FFN_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace ffn {

/// Sends LibTorch's own warnings to `sink` instead of glog or stderr, for the calling thread and as long as it lives.
void route_torch_warnings(std::function<void(const std::string&)> sink);

/// Algorithms that give the same bits every time, or an error where an operation has none.
void set_deterministic();

/// Whether products on a GPU may round their inputs to TensorFloat-32.
void set_tf32(bool allowed);

}  // namespace ffn
