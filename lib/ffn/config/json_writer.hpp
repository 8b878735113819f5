// Config structs as JSON: every field with its present value, in the order of describe(). Reading it back gives the
// same structs.
#pragma once

#include <nlohmann/json.hpp>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json_document.hpp"

namespace ffn {

Json write_json(const FieldVisitor::Describe& describe);

/// A described struct as JSON. describe() is not const because readers write through it; nothing is changed here.
template <class T>
Json write_json(const T& config) {
  T copy = config;
  return write_json(FieldVisitor::Describe([&copy](FieldVisitor& v) { copy.describe(v); }));
}

}  // namespace ffn
