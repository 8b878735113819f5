// Errors that a person reads. Each carries the process exit code and, where one exists, a remedy.
// They become text in app/main.cpp only. No dependencies.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ffn {

/// Exit status of the program. Scripts rely on these numbers.
enum class ExitCode : int {
  done = 0,
  run_failed = 1,    ///< a run failed or diverged, or every run of a study diverged
  usage = 2,         ///< wrong command line or config; retrying cannot help
  data = 3,          ///< unreadable data or checkpoint
  partial = 4,       ///< a study finished with some runs failed
  condition = 5,     ///< `compare --fail-if` or an unmet `expect`
  interrupted = 75,  ///< stopped on request; start again to resume (EX_TEMPFAIL)
};

/// Base of all errors meant for the user: what happened, and what to do next.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what, std::string hint = {}) : std::runtime_error(what), code_(code), hint_(std::move(hint)) {}

  ExitCode code() const { return code_; }
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

/// An exception's text for people; types of the standard library are put into words.
std::string reason_of(const std::exception& error);

/// One thing wrong with a config: where it stands and what to change.
struct Problem {
  std::string place;    ///< "configs/xor.json:7", "override 'train.steps=x'" or empty
  std::string pointer;  ///< JSON pointer, "/model/ffn/activation"; "" is the whole document
  std::string message;  ///< what was found, what was expected

  std::string text() const;  ///< one line; a pointer made of strange keys is cut and cleaned
};

/// Everything wrong with a config, reported together.
class ConfigError : public Error {
 public:
  ConfigError(const std::string& source, std::vector<Problem> problems, std::string hint = {});
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

struct UsageError : Error {
  explicit UsageError(const std::string& what, std::string hint = {}) : Error(ExitCode::usage, what, std::move(hint)) {}
};

struct DataError : Error {
  explicit DataError(const std::string& what, std::string hint = {}) : Error(ExitCode::data, what, std::move(hint)) {}
};

/// A file or directory that may be whole and cannot be read now (an error of the disk, no permission, too many open files). It ends the
/// command with exit code 3. Not an Error: code that leaves out a damaged file (`catch (const Error&)`) must not leave out this one.
struct ReadError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CheckpointError : Error {
  explicit CheckpointError(const std::string& what, std::string hint = {}) : Error(ExitCode::data, what, std::move(hint)) {}
};

/// Something that the machine refused: a file that cannot be written, a library that cannot be loaded.
struct SystemError : Error {
  explicit SystemError(const std::string& what, std::string hint = {}) : Error(ExitCode::run_failed, what, std::move(hint)) {}
};

/// The reader of stdout has closed it (`| head`): the program ends without a message.
struct ReaderGone : SystemError {
  using SystemError::SystemError;
};

struct OutOfMemory : SystemError {
  OutOfMemory(std::uint64_t bytes, const std::string& what_for, const std::string& hint)
      : SystemError(
            "not enough memory: " + (bytes >> 33 ? std::to_string(bytes >> 30) + " GiB" : std::to_string((bytes >> 20) + 1) + " MiB") +
                " for " + what_for,
            hint) {}
};

}  // namespace ffn
