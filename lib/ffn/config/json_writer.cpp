#include "ffn/config/json_writer.hpp"

#include <nlohmann/json.hpp>

namespace ffn {
namespace {

class JsonWriter final : public FieldVisitor {
 public:
  Json out = Json::object();

  void integer(const Field& f, std::int64_t& x, Bounds<std::int64_t>) override { out[f.name] = x; }
  void real(const Field& f, double& x, Bounds<double>) override { out[f.name] = x; }
  void flag(const Field& f, bool& x) override { out[f.name] = x; }
  void text(const Field& f, std::string& x) override { out[f.name] = x; }
  void choice(const Field& f, std::string& x, const std::vector<Choice>&) override { out[f.name] = x; }
  void path(const Field& f, std::string& x) override { out[f.name] = x; }
  void json(const Field& f, Json& x, Shape) override { out[f.name] = x; }
  void optional_integer(const Field& f, std::optional<std::int64_t>& x, Bounds<std::int64_t>) override {
    if (x) out[f.name] = *x;
  }
  void optional_real(const Field& f, std::optional<double>& x, Bounds<double>) override {
    if (x) out[f.name] = *x;
  }
  void section(const Field& f, const Describe& describe) override { out[f.name] = write_json(describe); }
  void optional_section(const Field& f, const OptionalSection& s) override {
    out[f.name] = s.present ? write_json(s.describe) : Json(nullptr);
  }
  void union_section(const Field& f, const Union& u) override {
    Json section = Json::object();
    section["kind"] = u.alternatives[u.current].kind;
    section.update(write_json(u.describe));
    out[f.name] = std::move(section);
  }
};

}  // namespace

Json write_json(const FieldVisitor::Describe& describe) {
  JsonWriter writer;
  describe(writer);
  return std::move(writer.out);
}

}  // namespace ffn
