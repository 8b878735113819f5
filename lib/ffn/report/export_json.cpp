#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"
#include "ffn/compare/compare_json.hpp"
#include "ffn/report/exporter.hpp"

namespace ffn {

std::string JsonExporter::write(const Comparison& c) const { return dump_json_lossy(comparison_json(c), 2) + "\n"; }

}  // namespace ffn
