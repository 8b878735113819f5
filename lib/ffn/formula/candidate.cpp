#include "ffn/formula/candidate.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/json_document.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/formula/functions.hpp"

namespace ffn {

namespace {

bool is_sum(const Hidden& h) { return h.kind == Hidden::Kind::sum || h.kind == Hidden::Kind::difference; }

// `tight`: beside an operator that binds more closely than a sum, or after a minus. `alone`: all that a call has.
template <class NameOfMatrix>
std::string text_of(const Hidden& h, const NameOfMatrix& matrix, bool tight = false, bool alone = false) {
  switch (h.kind) {
    case Hidden::Kind::matrix:
      return alone ? matrix(h.index, "", "") : matrix(h.index, "(", ")");
    case Hidden::Kind::scalar:
      return kScalarNames[h.index];
    case Hidden::Kind::number:
      return h.number < 0 ? "(" + number_text(h.number) + ")" : number_text(h.number);
    case Hidden::Kind::call:
      return h.function + "(" + text_of(h.parts[0], matrix, false, true) + ")";
    case Hidden::Kind::product:
      return text_of(h.parts[0], matrix, true) + " * " + text_of(h.parts[1], matrix, true);
    default:
      break;
  }
  const bool minus = h.kind == Hidden::Kind::difference;
  const std::string text = text_of(h.parts[0], matrix) + (minus ? " - " : " + ") + text_of(h.parts[1], matrix, minus && is_sum(h.parts[1]));
  return tight ? "(" + text + ")" : text;
}

template <class Visit>
void for_each_part(const Hidden& h, const Visit& visit) {
  visit(h);
  for (const auto& part : h.parts) for_each_part(part, visit);
}

// Reads the hidden layer of a formula with its lets and parameters.
class HiddenReader {
 public:
  HiddenReader(const FormulaText& text, const std::string& activation) : text_(text), activation_(activation) {}

  std::optional<Candidate> read() {
    const auto tree = parse_formula(text_.formula).tree;
    if (!tree || !is_product(*tree, "F", "D")) return std::nullopt;
    Candidate out;
    const Syntax* inner = &tree->parts[0];
    const auto is_call = [&](const char* name) {
      return inner->kind == Syntax::Kind::call && inner->text == name && inner->parts.size() == 1;
    };
    if (is_call("dropout")) inner = &inner->parts[0];
    if (is_call("rms_norm")) out.norm = true, inner = &inner->parts[0];
    auto hidden = part_of(*inner);
    if (!hidden || matrices_.size() > kMostMatrices || scalars_.size() > kMostScalars) return std::nullopt;
    out.hidden = std::move(*hidden);
    return out;
  }

 private:
  const Json* declared(const Syntax& name, std::size_t dimensions) const {
    if (name.kind != Syntax::Kind::name) return nullptr;
    const auto found = text_.parameters->find(name.text);
    return found != text_.parameters->end() && found->is_array() && found->size() == dimensions ? &*found : nullptr;
  }

  bool is_product(const Syntax& tree, const char* from, const char* to) const {
    if (tree.kind != Syntax::Kind::binary || tree.text != "@") return false;
    const Json* matrix = declared(tree.parts[1], 2);
    return matrix && (*matrix)[0] == from && (*matrix)[1] == to;
  }

  static std::size_t place(const std::string& name, std::vector<std::string>& names) {
    const auto index = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (index == names.size()) names.push_back(name);
    return index;
  }

  std::optional<Hidden> part_of(const Syntax& tree) {
    using Kind = Syntax::Kind;
    if (is_product(tree, "D", "F") && tree.parts[0].kind == Kind::name && tree.parts[0].text == "x")
      return Hidden{Hidden::Kind::matrix, place(tree.parts[1].text, matrices_)};
    if (tree.kind == Kind::number) return Hidden{Hidden::Kind::number, 0, tree.number};
    if (declared(tree, 1)) return Hidden{Hidden::Kind::scalar, place(tree.text, scalars_)};
    if (tree.kind == Kind::name) {
      const auto let = text_.let->find(tree.text);
      const auto value = let != text_.let->end() && let->is_string() ? parse_formula(let->get<std::string>()).tree : std::nullopt;
      return value ? part_of(*value) : std::nullopt;
    }
    std::vector<Hidden> parts;
    for (const auto& operand : tree.parts) {
      auto part = part_of(operand);
      if (!part) return std::nullopt;
      parts.push_back(std::move(*part));
    }
    if (tree.kind == Kind::negate) {
      parts.insert(parts.begin(), Hidden{Hidden::Kind::number, 0, -1});
      return Hidden{Hidden::Kind::product, 0, 0, "", std::move(parts)};
    }
    if (tree.kind == Kind::call) {
      const std::string name = tree.text == "phi" ? activation_ : tree.text;
      const ElementFunction* function = find_function(name);
      if (!function || function->operands != 1 || parts.size() != 1) return std::nullopt;
      return Hidden{Hidden::Kind::call, 0, 0, name, std::move(parts)};
    }
    static const std::map<std::string, Hidden::Kind> kinds{
        {"*", Hidden::Kind::product}, {"+", Hidden::Kind::sum}, {"-", Hidden::Kind::difference}};
    const auto kind = kinds.find(tree.text);
    if (tree.kind != Kind::binary || kind == kinds.end()) return std::nullopt;
    return Hidden{kind->second, 0, 0, "", std::move(parts)};
  }

  const FormulaText& text_;
  const std::string& activation_;
  std::vector<std::string> matrices_, scalars_;
};

}  // namespace

std::string expression_of(const Candidate& candidate) {
  const auto text = text_of(candidate.hidden, [](std::size_t i, const char*, const char*) { return std::string(kMatrixNames[i]); });
  return candidate.norm ? "rms_norm(" + text + ")" : text;
}

FormulaText formula_of_candidate(const Candidate& candidate) {
  FormulaText out;
  const auto hidden = text_of(candidate.hidden, [](std::size_t i, const char* open, const char* close) {
    return std::string(open) + "x @ " + kMatrixNames[i] + close;
  });
  const bool is_call = !candidate.norm && candidate.hidden.kind == Hidden::Kind::call;
  out.formula = (is_call ? hidden : (candidate.norm ? "rms_norm(" : "(") + hidden + ")") + " @ down";
  bool matrices[kMostMatrices] = {}, scalars[kMostScalars] = {};
  for_each_part(candidate.hidden, [&](const Hidden& h) {
    if (h.kind == Hidden::Kind::matrix) matrices[h.index] = true;
    if (h.kind == Hidden::Kind::scalar) scalars[h.index] = true;
  });
  for (std::size_t i = 0; i < kMostMatrices; ++i)
    if (matrices[i]) (*out.parameters)[kMatrixNames[i]] = Json::array({"D", "F"});
  for (std::size_t i = 0; i < kMostScalars; ++i) {
    if (!scalars[i]) continue;
    (*out.parameters)[kScalarNames[i]] = Json::array({"F"});
    (*out.init)[kScalarNames[i]] = 1;
  }
  (*out.parameters)["down"] = Json::array({"F", "D"});
  return out;
}

std::optional<Candidate> candidate_of(const FormulaText& text, const std::string& activation) {
  return HiddenReader(text, activation).read();
}

}  // namespace ffn
