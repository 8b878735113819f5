// Engine, device and threads of a run. Not part of its identity.
#pragma once

#include <optional>

#include "ffn/base/field_visitor.hpp"

namespace ffn {

/// "cpu", "cuda" or "cuda:N"
bool is_device(const std::string& name);

struct ComputeConfig {
  std::string engine = "auto";
  std::string device = "cpu";
  std::string precision = "float32";
  std::optional<std::int64_t> threads;
  void describe(FieldVisitor& v);

  bool on_cpu() const { return device == "cpu"; }
};

}  // namespace ffn
