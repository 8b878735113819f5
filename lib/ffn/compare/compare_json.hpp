// A comparison as one JSON document: compare.json, and `compare --json`.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

Json comparison_json(const Comparison& comparison);

}  // namespace ffn
