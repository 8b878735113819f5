// One list per knob. A config struct names its fields once, in describe(FieldVisitor&): name, member, doc, bounds.
// Reading, validating, writing, the JSON Schema and the documentation are visitors over that list.
// Depends on the standard library and JSON's forward declarations only, so that config headers compile in a blink.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ffn {

/// Name (the JSON key) and one-line documentation of a field.
struct Field {
  const char* name;
  const char* doc;
};

/// Closed interval, or open below when `above` is set: (low, high].
template <class T>
struct Bounds {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
  bool above = false;

  bool contains(T x) const { return (above ? x > low : x >= low) && x <= high; }
};
inline Bounds<std::int64_t> at_least(std::int64_t low) { return {low, std::numeric_limits<std::int64_t>::max(), false}; }
inline Bounds<double> at_least(double low) { return {low, std::numeric_limits<double>::max(), false}; }
inline Bounds<double> above(double low) { return {low, std::numeric_limits<double>::max(), true}; }
inline Bounds<std::int64_t> between(std::int64_t low, std::int64_t high) { return {low, high, false}; }
inline Bounds<double> between(double low, double high) { return {low, high, false}; }

/// One allowed word of a choice and what it means.
struct Choice {
  std::string name;
  std::string doc;
  bool is_open = false;  ///< stands for any other text; its owner states in a require() which
};

/// Outer form of a field that is JSON itself; its user checks the content.
enum class Shape { any, object, list };

class FieldVisitor {
 public:
  using Describe = std::function<void(FieldVisitor&)>;

  /// A section that may be null: `present` tells, `set_present` changes it, `describe` visits the members.
  struct OptionalSection {
    bool present;
    std::function<void(bool)> set_present;
    Describe describe;
  };
  /// A section whose key "kind" selects one of several structs.
  struct Alternative {
    std::string kind, doc;
    std::function<void()> select;  ///< makes this the current alternative, with its defaults
  };
  struct Union {
    std::vector<Alternative> alternatives;
    std::size_t current;
    Describe describe;  ///< visits the members of the current alternative
  };

  virtual ~FieldVisitor() = default;

  virtual void integer(const Field&, std::int64_t&, Bounds<std::int64_t>) = 0;
  virtual void real(const Field&, double&, Bounds<double>) = 0;
  virtual void flag(const Field&, bool&) = 0;
  virtual void text(const Field&, std::string&) = 0;
  virtual void choice(const Field&, std::string&, const std::vector<Choice>&) = 0;
  /// A file name; a relative one is resolved against the place where it was written.
  virtual void path(const Field&, std::string&) = 0;
  virtual void json(const Field&, nlohmann::ordered_json&, Shape) = 0;
  /// Absent and null mean "not set".
  virtual void optional_integer(const Field&, std::optional<std::int64_t>&, Bounds<std::int64_t>) = 0;
  virtual void optional_real(const Field&, std::optional<double>&, Bounds<double>) = 0;
  virtual void section(const Field&, const Describe&) = 0;
  virtual void optional_section(const Field&, const OptionalSection&) = 0;
  virtual void union_section(const Field&, const Union&) = 0;

  /// A fact across fields, stated after them: `field` is the key to blame, `message` names both values, `others` are the
  /// other keys that it rests on (dotted where they stand deeper). A fact is not held against keys that are in error.
  virtual void require(bool /*holds*/, const char* /*field*/, const std::string& /*message*/,
                       const std::vector<const char*>& /*others*/ = {}) {}

  template <class T>
  void group(const Field& field, T& member) {
    section(field, [&member](FieldVisitor& v) { member.describe(v); });
  }

  template <class T>
  void optional_group(const Field& field, std::optional<T>& member) {
    optional_section(field, {member.has_value(), [&member](bool on) { on ? void(member.emplace()) : member.reset(); },
                             [&member](FieldVisitor& v) {
                               if (member) member->describe(v);
                             }});
  }

  /// Each alternative has `static constexpr const char* kKind, *kDoc`.
  template <class... Ts>
  void one_of(const Field& field, std::variant<Ts...>& member) {
    Union u;
    (u.alternatives.push_back({Ts::kKind, Ts::kDoc, [&member] { member = Ts{}; }}), ...);
    u.current = member.index();
    u.describe = [&member](FieldVisitor& v) { std::visit([&v](auto& alternative) { alternative.describe(v); }, member); };
    union_section(field, u);
  }
};

}  // namespace ffn
