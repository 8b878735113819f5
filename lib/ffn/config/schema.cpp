#include "ffn/config/schema.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "ffn/base/text.hpp"
#include "ffn/config/command_config.hpp"

namespace ffn {
namespace {

template <class T>
std::string words(const Bounds<T>& b) {
  std::vector<std::string> limits;
  if (b.low != std::numeric_limits<T>::lowest()) limits.push_back((b.above ? "> " : "≥ ") + number_text(b.low));
  if (b.high != std::numeric_limits<T>::max()) limits.push_back("≤ " + number_text(b.high));
  return join(limits);
}

std::string names(const std::vector<Choice>& choices) {
  std::vector<std::string> list;
  for (const auto& choice : choices) {
    if (!choice.is_open) list.push_back(choice.name);
  }
  return join(list);
}

// Union alternatives are visited one after the other by selecting each and restoring the first choice afterwards.
template <class Visit>
void each_alternative(const FieldVisitor::Union& u, const Visit& visit) {
  for (const auto& alternative : u.alternatives) {
    alternative.select();
    visit(alternative);
  }
  u.alternatives[u.current].select();
}

class DocVisitor final : public FieldVisitor {
 public:
  std::vector<KeyDoc> keys;
  std::string prefix;

  void integer(const Field& f, std::int64_t& x, Bounds<std::int64_t> b) override { add(f, "integer", dump_json(x), words(b)); }
  void real(const Field& f, double& x, Bounds<double> b) override { add(f, "number", dump_json(x), words(b)); }
  void flag(const Field& f, bool& x) override { add(f, "true/false", dump_json(x), ""); }
  void text(const Field& f, std::string& x) override { add(f, "text", dump_json(x), ""); }
  void choice(const Field& f, std::string& x, const std::vector<Choice>& c) override { add(f, "choice", dump_json(x), names(c)); }
  void path(const Field& f, std::string& x) override { add(f, "path", dump_json(x), "relative to the config file"); }
  void json(const Field& f, Json& x, Shape shape) override {
    add(f, shape == Shape::object ? "object" : shape == Shape::list ? "list" : "JSON", dump_json(x), "");
  }
  void optional_integer(const Field& f, std::optional<std::int64_t>& x, Bounds<std::int64_t> b) override {
    add(f, "integer", x ? dump_json(*x) : "not set", words(b));
  }
  void optional_real(const Field& f, std::optional<double>& x, Bounds<double> b) override {
    add(f, "number", x ? dump_json(*x) : "not set", words(b));
  }
  void section(const Field& f, const Describe& describe) override {
    add(f, "section", "", "");
    nested(f.name, describe);
  }
  void optional_section(const Field& f, const OptionalSection& s) override {
    add(f, "section", s.present ? "" : "null", "null or a section");
    const bool was = s.present;
    s.set_present(true);
    nested(f.name, s.describe);
    if (!was) s.set_present(false);
  }
  void union_section(const Field& f, const Union& u) override {
    std::vector<std::string> kinds;
    for (const auto& alternative : u.alternatives) kinds.push_back(alternative.kind);
    add(f, "section", "kind \"" + u.alternatives[u.current].kind + "\"", "kind: " + join(kinds));
    each_alternative(u, [&](const Alternative& alternative) {
      keys.push_back({prefix + f.name + "[" + alternative.kind + "]", "section", "", "", alternative.doc});
      nested(std::string(f.name) + "[" + alternative.kind + "]", u.describe);
    });
  }

 private:
  void add(const Field& f, const char* type, std::string fallback, std::string allowed) {
    keys.push_back({prefix + f.name, type, std::move(fallback), std::move(allowed), f.doc});
  }
  void nested(const std::string& name, const Describe& describe) {
    const std::string outer = prefix;
    prefix += name + ".";
    describe(*this);
    prefix = outer;
  }
};

class SchemaVisitor final : public FieldVisitor {
 public:
  Json properties = Json::object();

  void integer(const Field& f, std::int64_t& x, Bounds<std::int64_t> b) override { put(f, bounded("integer", b), x); }
  void real(const Field& f, double& x, Bounds<double> b) override { put(f, bounded("number", b), x); }
  void flag(const Field& f, bool& x) override { put(f, {{"type", "boolean"}}, x); }
  void text(const Field& f, std::string& x) override { put(f, {{"type", "string"}}, x); }
  void path(const Field& f, std::string& x) override { put(f, {{"type", "string"}}, x); }
  void choice(const Field& f, std::string& x, const std::vector<Choice>& choices) override {
    Json values = Json::array(), docs = Json::array();
    bool is_open = false;
    for (const auto& choice : choices) {
      is_open = is_open || choice.is_open;
      if (choice.is_open) continue;
      values.push_back(choice.name);
      docs.push_back(choice.doc);
    }
    const Json named{{"enum", values}, {"enumDescriptions", docs}};
    put(f, is_open ? Json{{"anyOf", Json::array({named, Json{{"type", "string"}}})}} : named, x);
  }
  void json(const Field& f, Json& x, Shape shape) override {
    put(f, shape == Shape::object ? Json{{"type", "object"}} : shape == Shape::list ? Json{{"type", "array"}} : Json::object(), x);
  }
  void optional_integer(const Field& f, std::optional<std::int64_t>&, Bounds<std::int64_t> b) override {
    put_optional(f, bounded("integer", b));
  }
  void optional_real(const Field& f, std::optional<double>&, Bounds<double> b) override { put_optional(f, bounded("number", b)); }
  void section(const Field& f, const Describe& describe) override { put(f, object(describe)); }
  void optional_section(const Field& f, const OptionalSection& s) override {
    const bool was = s.present;
    s.set_present(true);
    put(f, {{"oneOf", Json::array({Json{{"type", "null"}}, object(s.describe)})}});
    if (!was) s.set_present(false);
  }
  void union_section(const Field& f, const Union& u) override {
    Json list = Json::array();
    each_alternative(u, [&](const Alternative& alternative) {
      Json schema = object(u.describe);
      Json kind = {{"const", alternative.kind}};
      if (alternative.kind == u.alternatives[u.current].kind) kind["default"] = alternative.kind;
      else schema["required"] = {"kind"};
      schema["description"] = alternative.doc;
      schema["properties"]["kind"] = std::move(kind);
      list.push_back(std::move(schema));
    });
    put(f, {{"oneOf", std::move(list)}});
  }

  static Json object(const Describe& describe) {
    SchemaVisitor inner;
    describe(inner);
    return {{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(inner.properties)}};
  }

 private:
  void put(const Field& f, Json schema, Json fallback = nullptr) {
    schema["description"] = f.doc;
    if (!fallback.is_null()) schema["default"] = std::move(fallback);
    properties[f.name] = std::move(schema);
  }
  void put_optional(const Field& f, Json schema) {
    schema["type"] = Json::array({schema["type"], "null"});
    put(f, std::move(schema));
  }
  template <class T>
  static Json bounded(const char* type, const Bounds<T>& b) {
    Json schema = {{"type", type}};
    if (b.low != std::numeric_limits<T>::lowest()) schema[b.above ? "exclusiveMinimum" : "minimum"] = b.low;
    if (b.high != std::numeric_limits<T>::max()) schema["maximum"] = b.high;
    return schema;
  }
};

}  // namespace

std::vector<KeyDoc> key_docs(const FieldVisitor::Describe& describe) {
  DocVisitor visitor;
  describe(visitor);
  return std::move(visitor.keys);
}

Json json_schema(const FieldVisitor::Describe& describe) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "ffn-train config"},
                 {"allowComments", true}};  // the last for VS Code
  Json fields = SchemaVisitor::object(describe), own = Json::object();
  // load_document and read_run_config handle these before the fields are read.
  const Json text = {{"type", "string"}};
  fields["properties"]["$schema"] = text;
  fields["properties"]["extends"] = {{"oneOf", Json::array({text, Json{{"type", "array"}, {"items", text}}})},
                                     {"description", "configs that this one lies over, relative to this file; the last one wins"}};
  for (auto& item : fields["properties"].items())
    if (!is_free_key(item.key())) own[item.key()] = std::exchange(item.value(), true);
  // With a program, all other keys are its own.
  schema.update({{"type", "object"}, {"properties", own}, {"if", {{"required", {"engine"}}}}, {"else", fields}});
  return schema;
}

}  // namespace ffn
