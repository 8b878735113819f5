#include "ffn/base/parameters.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <type_traits>

#include "ffn/base/error.hpp"
#include "ffn/base/random.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kAlignment = 16;  // floats: one cache line

std::string expert_name(const std::string& name, std::int64_t e) {
  const std::string marker = "experts.";
  const auto at = name.find(marker);
  return name.substr(0, at + marker.size()) + std::to_string(e) + "." + name.substr(at + marker.size());
}

/// A piece of a parameter as a file holds it: file element (i, j) of (rows, cols) stands at offset + i·row + j·col.
struct Piece {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset, rows, cols, row, col;
};

Piece transposed(const std::string& name, std::int64_t offset, std::int64_t d_in, std::int64_t d_out) {
  return {name, {d_out, d_in}, offset, d_out, d_in, 1, d_out};
}

std::vector<Piece> pieces(const RowEntry& entry) {
  const auto& shape = entry.shape;
  std::vector<Piece> out;
  switch (entry.layout) {
    case Export::as_is:
      return {{entry.name, shape, entry.offset, 1, entry.count, 0, 1}};
    case Export::linear:
      return {transposed(entry.name, entry.offset, shape[0], shape[1])};
    case Export::expert_bias:
      for (std::int64_t e = 0; e < shape[0]; ++e)
        out.push_back({expert_name(entry.name, e), {shape[1]}, entry.offset + e * shape[1], 1, shape[1], 0, 1});
      return out;
    case Export::expert_linear:
      for (std::int64_t e = 0; e < shape[0]; ++e)
        out.push_back(transposed(expert_name(entry.name, e), entry.offset + e * shape[1] * shape[2], shape[1], shape[2]));
      return out;
  }
  return out;
}

// Calls f(place in the row, place in the file) for every element.
template <class F>
void for_each_element(const Piece& p, const F& f) {
  for (std::int64_t i = 0; i < p.rows; ++i) {
    for (std::int64_t j = 0; j < p.cols; ++j) f(p.offset + i * p.row + j * p.col, i * p.cols + j);
  }
}

}  // namespace

namespace {

struct NamedRole {
  const char* part;
  Role role;
};
// The first row that occurs in a name wins: router.gate is the router's.
constexpr NamedRole kNamedRoles[] = {{"router", Role::router},       {"norm", Role::norm},
                                     {"query", Role::query},         {"key", Role::key},
                                     {"value", Role::value},         {"output", Role::attention_output},
                                     {"scores", Role::scores},       {"up", Role::up},
                                     {"gate", Role::gate},           {"down", Role::down},
                                     {"embedding", Role::embedding}, {"projection", Role::embedding},
                                     {"position", Role::position},   {"head", Role::head}};

}  // namespace

Role role_of(const std::string& name) {
  const auto has = [dotted = "." + name + "."](const std::string& part) {
    const bool suffix = part == "norm";  // "ffn_norm", "final_norm"
    return dotted.find((suffix ? "_" : ".") + part + ".") != std::string::npos;
  };
  for (const auto& [part, role] : kNamedRoles) {
    if (has(part)) return role;
  }
  return Role::other;
}

std::string role_name(Role role) {
  for (const auto& row : kNamedRoles) {
    if (row.role == role) return row.part;
  }
  return "other";
}

Init Init::fan_in(std::int64_t d_in) { return uniform(1.0 / std::sqrt(static_cast<double>(d_in))); }

const RowEntry& RowLayout::add(ParameterSpec spec) {
  std::int64_t count = 1;
  for (const auto size : spec.shape) count *= size;
  if (spec.role == Role::other) spec.role = role_of(spec.name);
  entries_.push_back({std::move(spec), width_, count});
  width_ += (count + kAlignment - 1) / kAlignment * kAlignment;
  return entries_.back();
}

std::int64_t RowLayout::num_parameters() const {
  std::int64_t n = 0;
  for (const auto& entry : entries_) n += entry.role == Role::buffer ? 0 : entry.count;
  return n;
}

template <class T>
void RowLayout::initialise(std::uint64_t seed, T* row, const std::function<Init(const RowEntry&)>& start) const {
  for (const auto& entry : entries_) {
    RandomStream random(seed, name_hash(entry.name));
    const Init init = start ? start(entry) : entry.init;
    const double scale = init.scale;
    T* values = row + entry.offset;
    for (std::int64_t i = 0; i < entry.count; ++i) {
      switch (init.kind) {
        case Init::Kind::uniform:
          values[i] = static_cast<T>(random.uniform(-scale, scale));
          break;
        case Init::Kind::normal:
          values[i] = static_cast<T>(scale * random.normal());
          break;
        case Init::Kind::constant:
          values[i] = static_cast<T>(scale);
          break;
      }
    }
  }
}

template <class T>
std::vector<TensorData> RowLayout::export_row(const T* row) const {
  std::vector<TensorData> out;
  for (const auto& entry : entries_) {
    for (const auto& piece : pieces(entry)) {
      TensorData data{piece.name, std::is_same_v<T, double> ? DType::f64 : DType::f32, piece.shape, {}};
      data.bytes.resize(static_cast<std::size_t>(piece.rows * piece.cols) * sizeof(T));
      for_each_element(piece, [&](std::int64_t from, std::int64_t to) {
        std::memcpy(data.bytes.data() + static_cast<std::size_t>(to) * sizeof(T), row + from, sizeof(T));
      });
      out.push_back(std::move(data));
    }
  }
  return out;
}

template <class T>
void RowLayout::import_row(T* row, const std::vector<TensorData>& tensors) const {
  const auto differences = tensor_differences(export_row(row), tensors);
  if (!differences.empty()) {
    std::string what = "the weights do not fit the model:";
    for (const auto& line : differences) what += "\n  " + line;
    throw CheckpointError(what, "build it from the config in the run.json beside the weights");
  }
  std::map<std::string, const TensorData*> by_name;
  for (const auto& tensor : tensors) by_name[tensor.name] = &tensor;
  for (const auto& entry : entries_) {
    for (const auto& piece : pieces(entry)) {
      const auto& bytes = by_name.at(piece.name)->bytes;
      for_each_element(piece, [&](std::int64_t to, std::int64_t from) {
        std::memcpy(row + to, bytes.data() + static_cast<std::size_t>(from) * sizeof(T), sizeof(T));
      });
    }
  }
}

template void RowLayout::initialise(std::uint64_t, float*, const std::function<Init(const RowEntry&)>&) const;
template void RowLayout::initialise(std::uint64_t, double*, const std::function<Init(const RowEntry&)>&) const;
template std::vector<TensorData> RowLayout::export_row(const float*) const;
template std::vector<TensorData> RowLayout::export_row(const double*) const;
template void RowLayout::import_row(float*, const std::vector<TensorData>&) const;
template void RowLayout::import_row(double*, const std::vector<TensorData>&) const;

}  // namespace ffn
