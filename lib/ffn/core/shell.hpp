// Commands as text that a shell reads back as they were.
#pragma once

#include <string>
#include <vector>

namespace ffn {

/// In quotes where it needs them; by codes, $'\xff', where a terminal would not show it.
std::string shell_word(const std::string& word);
std::string shell_command(const std::vector<std::string>& words);

}  // namespace ffn
