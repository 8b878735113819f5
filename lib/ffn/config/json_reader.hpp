// Reads a Document into config structs and collects all its problems.
#pragma once

#include <map>
#include <set>

#include "ffn/base/field_visitor.hpp"
#include "ffn/base/json_document.hpp"

namespace ffn {

class JsonReader final : public FieldVisitor {
 public:
  /// The keys of a union's kinds, and which kinds have them.
  using KindKeys = std::map<std::string, std::vector<std::string>>;

  explicit JsonReader(const Document& document);

  void integer(const Field&, std::int64_t&, Bounds<std::int64_t>) override;
  void real(const Field&, double&, Bounds<double>) override;
  void flag(const Field&, bool&) override;
  void text(const Field&, std::string&) override;
  void choice(const Field&, std::string&, const std::vector<Choice>&) override;
  void path(const Field&, std::string&) override;
  void json(const Field&, Json&, Shape) override;
  void optional_integer(const Field&, std::optional<std::int64_t>&, Bounds<std::int64_t>) override;
  void optional_real(const Field&, std::optional<double>&, Bounds<double>) override;
  void section(const Field&, const Describe&) override;
  void optional_section(const Field&, const OptionalSection&) override;
  void union_section(const Field&, const Union&) override;
  void require(bool holds, const char* field, const std::string& message, const std::vector<const char*>& others) override;

  /// Reads the top level. Afterwards `problems` holds what was found, unknown keys included.
  void read(const Describe& describe);
  /// The same for the object at `pointer`.
  void read_at(const std::string& pointer, const Describe& describe);
  /// States facts about the section at `pointer` that could not be stated while it was read.
  void check(const std::string& pointer, const Describe& facts);
  std::vector<Problem> problems;

 private:
  struct Scope {
    const Json* node;  // null: the section was absent, defaults stay
    std::string pointer;
    std::set<std::string> known;
  };

  const Json* find(const char* name);        // value of a key of the current scope, marked as known
  const Json* find_value(const char* name);  // the same, null counting as absent
  std::string pointer_to(const std::string& name) const;
  void problem(const std::string& pointer, const std::string& message);
  void wrong_type(const Field&, const char* expected, const Json& found);
  std::string instead_of_list(const std::string& pointer, const Json& list) const;
  void members(const Json* node, const std::string& pointer, const Describe&, bool has_kind = false, const KindKeys& kinds = {});
  template <class T>
  void take(const Field&, T& member, T value, const Bounds<T>&);  // values out of bounds are reported, not taken
  bool in_error(const std::string& pointer) const;                // it or a section around it

  const Document& document_;
  std::vector<Scope> scopes_;
};

}  // namespace ffn
