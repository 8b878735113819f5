// Messages besides results: to stderr for a person, to log.txt with times. spdlog writes them; no header of ours includes it,
// because it would cost every file a second of compiling.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include "ffn/train/libtorch.hpp"

namespace ffn {

struct LogOptions {
  int verbosity = 0;                  ///< number of -v less number of -q: 1 debug, 0 info, -1 warnings, -2 errors only
  bool color = false;                 ///< report/terminal.hpp decides
  std::ostream* terminal = nullptr;   ///< null is stderr
  std::function<void()> before_line;  ///< called before a line goes to the terminal, to clear a progress bar; must not log
  std::function<std::string(const std::string&)> folded = {};  ///< what a line becomes where the terminal is narrow; as it is without
};

/// Sets the terminal's side. May be called again; until then the defaults hold. Lines read "warning: text"; plain
/// information has no prefix. Log files are not affected by verbosity.
void set_up_log(const LogOptions& options);

/// Fits Engine::set_log.
void write_log(LogLevel level, const std::string& text);
void log_debug(const std::string& text);
void log_info(const std::string& text);
void log_warning(const std::string& text);
void log_error(const std::string& text);

/// While it lives, everything from debug up is appended to a file, with times. Where something lies there that is no regular
/// file, a warning says that no log is kept. Throws SystemError if it cannot be opened.
class LogFile {
 public:
  explicit LogFile(const std::filesystem::path& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

 private:
  std::shared_ptr<void> sink_;
};

}  // namespace ffn
