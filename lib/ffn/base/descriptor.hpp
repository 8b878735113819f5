// An open file by its descriptor, closed with the object; and writing to one.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace ffn {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    fd_ = other.release();
    return *this;
  }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  /// False, with errno, where the file system says only now, and never again, that it could not write.
  bool close() {
    const int fd = release();
    return fd < 0 || ::close(fd) == 0 || errno == EINTR;
  }

 private:
  int fd_;
};

/// False, with errno, where some of it could not be written.
inline bool write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n >= 0) done += static_cast<std::size_t>(n);
    else if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace ffn
