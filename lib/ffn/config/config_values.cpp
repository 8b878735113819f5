#include "ffn/config/config_values.hpp"

#include <nlohmann/json.hpp>

#include "ffn/config/run_config.hpp"

namespace ffn {

namespace {

using Values = std::map<std::string, JsonValue>;

/// A config's values. With `of_all`, the defaults of every kind, or with `like` of the kinds there.
class ValueVisitor final : public FieldVisitor {
 public:
  explicit ValueVisitor(bool of_all, const Values* like = nullptr) : of_all_(of_all), like_(like) {}
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
    if (!s.present && !is_wanted(f.name)) return;
    if (!s.present) s.set_present(true);
    nested(f.name, s.describe);
    if (!s.present) s.set_present(false);
  }
  void union_section(const Field& f, const Union& u) override {
    const std::string& current = u.alternatives[u.current].kind;
    out.values.emplace(prefix_ + f.name + ".kind", Json(current));
    for (const auto& alternative : u.alternatives) {
      const std::string name = f.name + ("[" + alternative.kind + "]");
      if (of_all_ ? !is_wanted(name) : alternative.kind != current) continue;
      if (of_all_) alternative.select();
      nested(name, u.describe);
    }
    if (of_all_) u.alternatives[u.current].select();
  }

 private:
  void put(const Field& f, const Json& value) { out.values.emplace(prefix_ + f.name, value); }
  void nested(const std::string& name, const Describe& describe) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    describe(*this);
    prefix_ = outer;
  }

  bool is_wanted(const std::string& section) const {
    if (!of_all_ || !like_) return of_all_;
    const std::string beginning = prefix_ + section + ".";
    const auto at = like_->lower_bound(beginning);
    return at != like_->end() && at->first.rfind(beginning, 0) == 0;
  }

  bool of_all_;
  const Values* like_;
  std::string prefix_;
};

}  // namespace

ConfigValues config_values(const FieldVisitor::Describe& describe) {
  ValueVisitor visitor(false);
  describe(visitor);
  return std::move(visitor.out);
}

Values default_values(const Values* like) {
  RunConfig config;
  ValueVisitor visitor(true, like);
  config.describe(visitor);
  return std::move(visitor.out.values);
}

}  // namespace ffn
