// JSON Schema for editors and the key reference for people, from the describe() lists that also read configs.
#pragma once

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json_document.hpp"

namespace ffn {

/// One documented key of a config.
struct KeyDoc {
  std::string path;      ///< dotted, with the kind of each union in brackets: "model.ffn[moe].top_k"
  std::string type;      ///< "integer", "number", "true/false", "text", "choice", "path", "section"
  std::string fallback;  ///< the default as JSON; "" for a section
  std::string allowed;   ///< bounds or choices in words; may be empty
  std::string doc;
};

/// Every key that describe() names, all alternatives included. Sections are left at their defaults.
std::vector<KeyDoc> key_docs(const FieldVisitor::Describe& describe);

/// JSON Schema draft-07 (the draft that editors agree on) of an object with these fields.
Json json_schema(const FieldVisitor::Describe& describe);

}  // namespace ffn
