#include "ffn/store/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/dist_sink.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <mutex>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"

namespace ffn {
namespace {

using Level = spdlog::level::level_enum;

/// "warning: text". spdlog's own stderr sinks know neither our prefixes nor a progress bar in the way.
class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit TerminalSink(LogOptions options) : options_(std::move(options)) { set_level(threshold(options_.verbosity)); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (options_.before_line) options_.before_line();
    std::ostream& out = options_.terminal ? *options_.terminal : std::cerr;
    const std::string word = word_of(message.level), line = word + std::string(message.payload.data(), message.payload.size());
    const std::string shown = options_.folded ? options_.folded(line) : line;
    out << colored(word, message.level) << shown.substr(word.size()) << '\n' << std::flush;
  }
  void flush_() override {}

 private:
  static Level threshold(int verbosity) {
    if (verbosity >= 1) return Level::debug;
    if (verbosity == 0) return Level::info;
    return verbosity == -1 ? Level::warn : Level::err;
  }

  static std::string word_of(Level level) {
    return level == Level::info ? "" : level >= Level::err ? "error: " : level == Level::warn ? "warning: " : "debug: ";
  }

  // Colours as compilers use them: ECMA-48 SGR 31 red, 33 yellow, 2 faint.
  std::string colored(const std::string& word, Level level) const {
    if (!options_.color || word.empty()) return word;
    const char* color = level >= Level::err ? "\033[1;31m" : level == Level::warn ? "\033[1;33m" : "\033[2m";
    return color + word.substr(0, word.size() - 1) + "\033[0m ";
  }

  const LogOptions options_;
};

struct Log {
  // The logger lets everything through: each sink has its own threshold. dist_sink locks, so that a log file can come and
  // go while another thread writes.
  std::shared_ptr<spdlog::sinks::dist_sink_mt> sinks = std::make_shared<spdlog::sinks::dist_sink_mt>();
  spdlog::logger logger{"ffn-train", sinks};
  spdlog::sink_ptr terminal = std::make_shared<TerminalSink>(LogOptions{});

  Log() {
    logger.set_level(Level::trace);
    logger.flush_on(Level::trace);  // few lines, and the last ones before a crash are the ones that matter
    sinks->add_sink(terminal);
    // A log file on a full disk is given up in silence: what is worth keeping is written elsewhere, and its failure is an error that says
    // so.
    logger.set_error_handler([](const std::string&) {});
  }
};

Log& log_state() {
  static Log state;
  return state;
}

// As a string_view the text is taken as it is: braces in a path or a config are no format.
void write(Level level, const std::string& text) { log_state().logger.log(level, spdlog::string_view_t(text.data(), text.size())); }

}  // namespace

void set_up_log(const LogOptions& options) {
  Log& state = log_state();
  state.sinks->remove_sink(state.terminal);
  state.terminal = std::make_shared<TerminalSink>(options);
  state.sinks->add_sink(state.terminal);
}

void write_log(LogLevel level, const std::string& text) {
  switch (level) {
    case LogLevel::debug:
      return log_debug(text);
    case LogLevel::info:
      return log_info(text);
    case LogLevel::warning:
      return log_warning(text);
  }
}
void log_debug(const std::string& text) { write(Level::debug, text); }
void log_info(const std::string& text) { write(Level::info, text); }
void log_warning(const std::string& text) { write(Level::warn, text); }
void log_error(const std::string& text) { write(Level::err, text); }

LogFile::LogFile(const std::filesystem::path& path) {
  const auto type = link_type_of(path);
  if (type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::regular) {
    log_warning("no log is kept: " + path.string() + " is no regular file");
    return;
  }
  spdlog::sink_ptr sink;
  try {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  } catch (const spdlog::spdlog_ex&) {
    throw SystemError("cannot open the log file " + path.string() + ": " + std::strerror(errno));
  }
  sink->set_level(Level::debug);
  // UTC like the times in the other files of a run.
  sink->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l: %v", spdlog::pattern_time_type::utc));
  log_state().sinks->add_sink(sink);
  sink_ = sink;
}

LogFile::~LogFile() {
  if (sink_) log_state().sinks->remove_sink(std::static_pointer_cast<spdlog::sinks::sink>(sink_));
}

}  // namespace ffn
