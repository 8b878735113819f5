// How the layers of the CPU network say which parameters they have and find them again in a run's rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/base/parameters.hpp"

namespace ffn::cpu {

/// How a backward pass stores the gradient of a parameter.
enum class Gradient {
  written,  ///< writes all of it: what stood there before does not matter
  added_to  ///< adds to it, or writes a part: it has to be zero before
};

/// Offset of a parameter in a row; none if the layer goes without it.
class Place {
 public:
  Place() = default;
  explicit Place(std::int64_t offset) : offset_(offset) {}
  explicit operator bool() const { return offset_ >= 0; }
  /// The place of a part that begins after `count` elements.
  Place after(std::int64_t count) const { return offset_ < 0 ? *this : Place(offset_ + count); }
  /// nullptr for nowhere
  template <class T>
  T* in(T* row) const {
    return offset_ < 0 ? nullptr : row + offset_;
  }

 private:
  std::int64_t offset_ = -1;
};

/// All parameters of a network, one after the other as its layers declare them.
class Declared {
 public:
  const RowLayout& layout() const { return layout_; }
  /// Zeroes the gradients that backward passes add to.
  void zero_added(float* gradients) const;
  struct Range {
    std::int64_t offset, count;
  };
  /// Range of a part's parameters, to whose gradients several layers add from now on.
  Range share(const std::string& prefix);

 private:
  friend class Declare;
  RowLayout layout_;
  std::vector<Range> added_;
};

/// Given to a layer's constructor to declare its parameters with. The order is that in which LibTorch's modules register them:
/// a layer's own before those of its parts.
class Declare {
 public:
  explicit Declare(Declared& all, std::string prefix = "", bool again = false) : all_(all), prefix_(std::move(prefix)), again_(again) {}
  /// For the part called `name`.
  Declare in(const std::string& name) const { return Declare(all_, prefix_ + name + ".", again_); }
  /// For a layer with the parameters of another one, which has declared them under the same names.
  Declare again() const { return Declare(all_, prefix_, true); }
  Place operator()(ParameterSpec spec, Gradient gradient = Gradient::written) const;
  /// Nowhere for no parameter.
  Place operator()(const std::optional<ParameterSpec>& spec, Gradient gradient = Gradient::written) const {
    return spec ? (*this)(*spec, gradient) : Place();
  }

 private:
  Declared& all_;
  std::string prefix_;
  bool again_;
};

}  // namespace ffn::cpu
