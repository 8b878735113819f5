// Commands as text that a shell reads back as they were.
#pragma once

#include <string>
#include <vector>

namespace ffn {

/// In quotes where it needs them; by codes, $'\xff', where a terminal would not show it.
std::string shell_word(const std::string& word);
std::string shell_command(const std::vector<std::string>& words);

/// The command a little further in, in lines of at most `width`, which a shell takes as one: what does not fit goes on behind a backslash.
/// One line if the width is 0.
std::string folded_command(const std::string& command, int width);

}  // namespace ffn
