// The largest error of a comparison, for tests. std::max(worst, NaN) keeps `worst`, and `if (!(error <= worst)) worst =
// error` forgets a NaN at the next number: with either a layer that returns NaN equals its reference. Torch-free.
#pragma once

#include <cmath>
#include <sstream>
#include <string>

namespace ffn::test {

class Worst {
 public:
  void add(double error) { add(error, ""); }
  /// `where` is kept for the message, if this is the largest so far.
  template <class Where>
  void add(double error, const Where& where) {
    const double size = std::isnan(error) ? HUGE_VAL : std::abs(error);  // no later number is larger
    if (any_ && size <= error_) return;
    any_ = true;
    error_ = size;
    std::ostringstream text;
    text << where;
    where_ = text.str();
  }
  /// Infinite if an error was NaN, and if nothing was compared.
  double error() const { return any_ ? error_ : HUGE_VAL; }
  const std::string& where() const { return where_; }

 private:
  bool any_ = false;
  double error_ = 0;
  std::string where_;
};

}  // namespace ffn::test
