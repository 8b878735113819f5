#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"
#include "ffn/compare/compare_json.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/conditions.hpp"
#include "ffn/report/exporter.hpp"

namespace ffn {

Json answered_json(const Comparison& c) {
  Json out = comparison_json(c);
  out["answer"] = plain_answer(c);
  out["conditions"] = conditions_text(c);
  return out;
}

std::string JsonExporter::write(const Comparison& c) const { return dump_json_lossy(answered_json(c), 2) + "\n"; }

}  // namespace ffn
