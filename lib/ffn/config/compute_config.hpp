// Engine, device and threads of a run. Not part of its identity.
#pragma once

#include <optional>

#include "ffn/base/field_visitor.hpp"

namespace ffn {

struct ComputeConfig {
  std::string engine = "auto";
  std::string device = "cpu";
  bool tf32 = false;
  std::optional<std::int64_t> threads;
  void describe(FieldVisitor& v);

  bool on_cpu() const { return device == "cpu"; }
};

}  // namespace ffn
