// The larger of two differences. std::max(worst, NaN) is `worst`: a result that is not a number would pass for equal.
#pragma once

#include <cmath>

namespace ffn {

/// NaN if one of them is.
inline double nan_max(double a, double b) { return a >= b ? a : b >= a ? b : NAN; }

}  // namespace ffn
