// The terminal's abilities: colour, width. Each stream is asked for itself: `ffn-train … > file` keeps stderr's colours.
// Standard library and POSIX only.
#pragma once

#include <functional>
#include <string>

namespace ffn {

enum class ColorMode { automatic, always, never };

/// Value of an environment variable, null if it is not set; a parameter, so that tests need not change the real one.
using Environment = std::function<const char*(const char* name)>;
Environment process_environment();

bool is_terminal(int fd);

/// The first of these that speaks: --color, NO_COLOR, FORCE_COLOR or CLICOLOR_FORCE (whatever they hold, if not empty:
/// no-color.org, force-color.org), a terminal whose TERM is not "dumb".
bool color_enabled(ColorMode mode, bool terminal, const Environment& environment);
bool color_enabled(ColorMode mode, int fd);

/// Whether a line may be drawn over again: a terminal whose TERM is not "dumb". Colour settings do not matter.
bool animation_enabled(bool terminal, const Environment& environment);
bool animation_enabled(int fd);

/// Columns: `reported` by the terminal if positive, else COLUMNS if it is a sensible number, else 80.
int terminal_width(int reported, const Environment& environment);
int terminal_width_of(int fd);

enum class Style { bold, faint, red, green, yellow, blue, magenta, cyan };

/// `text` between escape codes, or as it is without colour.
std::string styled(const std::string& text, Style style, bool color);

}  // namespace ffn
