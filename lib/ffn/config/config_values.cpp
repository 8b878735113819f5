#include "ffn/config/config_values.hpp"

#include <nlohmann/json.hpp>

#include "ffn/config/run_config.hpp"

namespace ffn {

namespace {

enum class Kinds { current, all };

class ValueVisitor final : public FieldVisitor {
 public:
  explicit ValueVisitor(Kinds kinds) : kinds_(kinds) {}
  ConfigValues out;

  void integer(const Field& f, std::int64_t& x, Bounds<std::int64_t>) override { put(f, x); }
  void real(const Field& f, double& x, Bounds<double>) override { put(f, x); }
  void flag(const Field& f, bool& x) override { put(f, x); }
  void text(const Field& f, std::string& x) override { put(f, x); }
  void choice(const Field& f, std::string& x, const std::vector<Choice>&) override { put(f, x); }
  void path(const Field& f, std::string& x) override {
    put(f, x);
    out.files.push_back(prefix_ + f.name);
  }
  void json(const Field& f, Json& x, Shape) override { put(f, x); }
  void optional_integer(const Field& f, std::optional<std::int64_t>& x, Bounds<std::int64_t>) override {
    if (x) put(f, *x);
  }
  void optional_real(const Field& f, std::optional<double>& x, Bounds<double>) override {
    if (x) put(f, *x);
  }
  void section(const Field& f, const Describe& describe) override { nested(f.name, describe); }
  void optional_section(const Field& f, const OptionalSection& s) override {
    put(f, s.present ? Json(true) : Json(nullptr));
    if (kinds_ == Kinds::all) s.set_present(true);
    if (s.present || kinds_ == Kinds::all) nested(f.name, s.describe);
    if (kinds_ == Kinds::all) s.set_present(s.present);
  }
  void union_section(const Field& f, const Union& u) override {
    const std::string& current = u.alternatives[u.current].kind;
    out.values.emplace(prefix_ + f.name + ".kind", Json(current));
    for (const auto& alternative : u.alternatives) {
      if (kinds_ == Kinds::all) alternative.select();
      if (kinds_ == Kinds::all || alternative.kind == current) nested(f.name + ("[" + alternative.kind + "]"), u.describe);
    }
    if (kinds_ == Kinds::all) u.alternatives[u.current].select();
  }

 private:
  void put(const Field& f, const Json& value) { out.values.emplace(prefix_ + f.name, value); }
  void nested(const std::string& name, const Describe& describe) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    describe(*this);
    prefix_ = outer;
  }

  Kinds kinds_;
  std::string prefix_;
};

}  // namespace

ConfigValues config_values(const FieldVisitor::Describe& describe) {
  ValueVisitor visitor(Kinds::current);
  describe(visitor);
  return std::move(visitor.out);
}

const std::map<std::string, JsonValue>& default_values() {
  static const auto values = [] {
    RunConfig config;
    ValueVisitor visitor(Kinds::all);
    config.describe(visitor);
    return std::move(visitor.out.values);
  }();
  return values;
}

}  // namespace ffn
