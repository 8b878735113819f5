// A parameter's description (name, shape, start, form in a weight file, whether it decays), and the layout of a model's parameters
// side by side in one row of floats. Torch-free: the CPU step trains on such rows, LibTorch's modules are views of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ffn/base/tensor_data.hpp"

namespace ffn {

/// How a parameter starts. Draws are a function of (run seed, parameter name, element), see base/random.hpp.
struct Init {
  enum class Kind { uniform, normal, constant } kind;
  double scale;  ///< bound of the uniform, standard deviation of the normal, or the constant

  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  static Init normal(double std) { return {Kind::normal, std}; }
  static Init constant(double value) { return {Kind::constant, value}; }
  /// As torch.nn.Linear starts: U(±1/√D_in).
  static Init fan_in(std::int64_t d_in);
};

/// A parameter's form in a weight file.
enum class Export {
  as_is,         ///< same shape
  linear,        ///< (D_in, D_out) here, (D_out, D_in) there: torch.nn.Linear's layout
  expert_bias,   ///< (E, D_out) here, E tensors "experts.<e>.…" of (D_out) there
  expert_linear  ///< (E, D_in, D_out) here, E tensors of (D_out, D_in) there
};

/// A parameter's purpose. Its start, its decay and its updates may depend on it.
enum class Role {
  other,      ///< of a formula: what has none of the names below
  embedding,  ///< the map or the embedding that tokens enter by
  position,   ///< added per position
  query,
  key,
  value,
  attention_output,
  scores,  ///< learned, of attention by position
  up,
  gate,
  down,
  router,
  norm,
  head,
  buffer  ///< no weight: a number that its layer moves by itself (Router::update_buffers). Saved and resumed; never decays
};
/// By its dotted name in a row: "block0.ffn.up.weight".
Role role_of(const std::string& name);
/// As configs name it: "up"; "buffer" has none.
std::string role_name(Role role);

/// Everything about a parameter but its place. Declared once, by the functions of config/parameters.hpp.
struct ParameterSpec {
  std::string name;                 ///< "weight"; in a row "block0.ffn.up.weight"
  std::vector<std::int64_t> shape;  ///< of one run
  Init init;
  bool decays;  ///< under `decay: matrices`
  Export layout = Export::as_is;
  Role role = Role::other;  ///< other: by its name, where it is added to a row
  bool as_asked = false;    ///< `init` is what a config says of this parameter: no rule for all of them changes it

  bool is_matrix() const { return layout == Export::linear || layout == Export::expert_linear; }
};

/// A parameter and where it stands in the row.
struct RowEntry : ParameterSpec {
  std::int64_t offset, count;  ///< in elements
};

class RowLayout {
 public:
  /// Parameters stand in the order in which they are added, each at the start of a cache line. → its entry
  const RowEntry& add(ParameterSpec spec);

  const std::vector<RowEntry>& entries() const { return entries_; }
  std::int64_t width() const { return width_; }  ///< P, padding included
  std::int64_t num_parameters() const;           ///< padding and buffers not counted

  // T is float or double; `row` has width() elements.
  /// Draws every parameter from (seed, name), as `start` says of it, or else as its layer does.
  template <class T>
  void initialise(std::uint64_t seed, T* row, const std::function<Init(const RowEntry&)>& start = {}) const;
  /// Named tensors in torch.nn.Linear's layout.
  template <class T>
  std::vector<TensorData> export_row(const T* row) const;
  /// The reverse. Throws CheckpointError with every difference in name, shape or dtype.
  template <class T>
  void import_row(T* row, const std::vector<TensorData>& tensors) const;

 private:
  std::vector<RowEntry> entries_;
  std::int64_t width_ = 0;
};

}  // namespace ffn
