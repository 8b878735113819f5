// One function for many indices, by several threads. Standard library only.
#pragma once

#include <cstddef>
#include <functional>

namespace ffn {

/// Calls work(0) … work(count - 1), each once, in any order, from up to `threads` threads (fewer where there are no more to be
/// had). Throws the first error, after all have ended.
void side_by_side(std::size_t threads, std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace ffn
