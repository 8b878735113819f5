// Everything that the program prints goes through here: text that others wrote (a config, a path, a sampled character) cannot speak to the
// terminal, and what cannot be written is an error.
#pragma once

#include <iosfwd>
#include <mutex>
#include <streambuf>
#include <string>

namespace ffn {

/// Makes a text that others wrote harmless on its way to a descriptor.
enum class Filter { off, on };

/// Writes to a descriptor. With the filter on, what would move the cursor, erase, or reorder what is read becomes '?'
/// (base/utf8.hpp, printable()). Line feeds, tabs and the colours of styled() pass; cursor movements of our own go through
/// write_control().
class OutputBuffer final : public std::streambuf {
 public:
  /// Output of `first` goes before: they may lead to one terminal.
  OutputBuffer(int fd, Filter filter, OutputBuffer* first = nullptr) : fd_(fd), filter_(filter), first_(first) {}

  // Both throw SystemError when the descriptor cannot be written, and so does every write to the stream if its exceptions()
  // has badbit.
  /// As it is, behind what was written before.
  void control(const std::string& sequence);
  /// Writes what was held back because its end had not come.
  void finish();
  /// finish() without an error; the next write has it.
  void try_finish() noexcept;

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  void flush(bool all);
  void write(const std::string& bytes);

  const int fd_;
  const Filter filter_;
  OutputBuffer* const first_;
  std::mutex mutex_;
  std::string pending_;
  int failure_ = 0;  // errno of the first write that failed; all after it fail, too
};

/// A sequence that moves the cursor or erases: past the filter where the stream has one.
void write_control(std::ostream& out, const std::string& sequence);

/// While it lives, std::cout and std::cerr go through the filter: stdout where it is a terminal, stderr always. A failed write
/// to std::cout throws SystemError.
class StandardStreams {
 public:
  StandardStreams();
  ~StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  /// Writes the rest. Throws SystemError if stdout cannot be written.
  void finish() { out_.finish(); }

 private:
  OutputBuffer out_, err_;
  std::streambuf *old_out_, *old_err_;
  std::ostream* old_tie_;
};

/// Standard descriptors that are closed lead nowhere: the next file that is opened would become stdout. Writing to such a stdout fails.
void open_standard_descriptors();

}  // namespace ffn
