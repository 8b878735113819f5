// A study that is tuned, seen before it is: which of its judging runs are there already, and with which choice. Depends on plan.
#pragma once

#include "ffn/study/plan.hpp"

namespace ffn {

/// The study with the choices that the runs in its places were trained with, of all that its grid may grow to; where there is no run,
/// or one that no choice leads to, with the grid's first point.
Plan plan_as_it_stands(const Study& study, const std::filesystem::path& out);

}  // namespace ffn
