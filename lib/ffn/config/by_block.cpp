#include "ffn/config/by_block.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"
#include "ffn/base/text.hpp"
#include "ffn/formula/activation_formula.hpp"

namespace ffn {

std::string ModelConfig::widths_text() const {
  std::vector<std::string> widths;
  for (std::int64_t b = 0; b < (block_expansion->empty() ? 1 : blocks); ++b) {
    const ModelConfig block = of_block(b);
    const FfnSize* size = size_of(block.ffn);
    widths.push_back(size ? std::to_string(size->hidden_width(d_model)) : block_expansion->empty() ? "-" : "0");
  }
  return join(widths);
}

bool ModelConfig::differs_by_block() const { return parallel_from > 0 || !block_expansion->empty() || !block_activation->empty(); }

ModelConfig ModelConfig::of_block(std::int64_t block) const {
  ModelConfig out = *this;
  if (!differs_by_block()) return out;
  const auto b = static_cast<std::size_t>(block);
  out.parallel = parallel && block >= parallel_from;
  out.parallel_from = 0;
  out.block_expansion = out.block_activation = JsonValue::array();
  FfnSize* size = size_of(out.ffn);
  if (!block_activation->empty()) size->activation = block_activation->at(b).get<std::string>();
  if (!block_expansion->empty()) size->expansion = block_expansion->at(b).get<double>();
  if (size && size->expansion == 0.0) out.ffn = NoFfnConfig();
  return out;
}

void require_blocks(FieldVisitor& v, const ModelConfig& model) {
  const auto require_list = [&](const char* key, const Json& list, bool (*is_one)(const Json&), const std::string& expected) {
    if (list.empty()) return;
    const bool has_size = size_of(model.ffn) && !std::holds_alternative<MoeConfig>(model.ffn) && !model.share_ffn;
    v.require(has_size, key,
              std::string(key) + " is of plain, gated and formula layers, one per block; remove it, or set ffn.kind or share_ffn",
              {"ffn.kind", "share_ffn"});
    v.require(static_cast<std::int64_t>(list.size()) == model.blocks, key,
              std::string(key) + " has " + std::to_string(list.size()) + " values for " + std::to_string(model.blocks) + " blocks",
              {"blocks"});
    for (const auto& value : list) v.require(is_one(value), key, "expected " + expected + ", got " + shortened(value));
  };
  const auto is_expansion = [](const Json& x) { return x.is_number() && x.get<double>() >= 0 && x.get<double>() <= 1024; };
  require_list("block_expansion", *model.block_expansion, is_expansion, "multiples of d_model from 0 to 1024, one per block");
  require_list(
      "block_activation", *model.block_activation,
      [](const Json& x) { return x.is_string() && activation_problem(x.get<std::string>()).empty(); },
      "names of activations or formulas in z, one per block");
  if (const FfnSize* size = size_of(model.ffn); size && !model.block_expansion->empty()) {
    v.require(!size->d_ff && !size->expansion && size->match == "none", "block_expansion",
              "block_expansion is the width of every layer; remove ffn.d_ff, ffn.expansion and ffn.match "
              "(on the command line: model.ffn.expansion=null)",
              {"ffn.d_ff", "ffn.expansion", "ffn.match"});
    v.require(std::any_of(model.block_expansion->begin(), model.block_expansion->end(), [](const Json& x) { return x != 0; }),
              "block_expansion", "no block has a feed-forward layer; say so with ffn.kind=none");
    v.require(model.init != "mup", "block_expansion", "init mup is of layers of one width; choose another init", {"init"});
  }
  const FormulaText* formula = formula_of(model.ffn);
  v.require(model.block_activation->empty() || !formula || formula->calls_phi(), "block_activation",
            "the formula nowhere calls phi(…), which block_activation is about; write phi, or remove the list", {"ffn.formula"});
  v.require(model.block_activation->empty() || !size_of(model.ffn) || size_of(model.ffn)->activation == FfnSize().activation,
            "block_activation", "block_activation is the activation of every layer; remove ffn.activation", {"ffn.activation"});
  v.require(model.parallel_from < model.blocks, "parallel_from",
            "parallel_from (" + std::to_string(model.parallel_from) + ") is no block; the last is " + std::to_string(model.blocks - 1),
            {"blocks"});
  v.require(model.parallel_from == 0 || model.parallel, "parallel_from",
            "parallel_from says from which block on attention and feed-forward layer are parallel; set parallel=true or leave it out",
            {"parallel"});
}

}  // namespace ffn
