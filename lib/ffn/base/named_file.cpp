#include "ffn/base/named_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "ffn/base/files.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kHead = 1024;

bool is_standard_output(const struct stat& file) {
  struct stat output = {};
  return ::fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev && output.st_ino == file.st_ino;
}

}  // namespace

bool is_of(const FileKind& kind, const fs::path& path) {
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(kHead));
  if (file.bad() || (file.fail() && !file.eof()))
    throw UsageError("cannot read the " + kind.what + " " + path.string() + ", which would be replaced");
  head.resize(static_cast<std::size_t>(file.gcount()));
  const auto at = head.find(kind.mark);
  return head.empty() || (kind.place == FileKind::Place::beginning ? at == 0 : at != std::string::npos);
}

NamedFile::NamedFile(const fs::path& path, const FileKind& kind, Chosen chosen) : path_(path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {  // nothing there; a link that leads nowhere yet is followed
    std::error_code error;
    for (int links = 0; links < 40 && fs::is_symlink(fs::symlink_status(path_, error)); ++links)
      path_ = path_.parent_path() / fs::read_symlink(path_, error);
    return;
  }
  if (S_ISDIR(status.st_mode)) throw UsageError(path.string() + " is a directory, and a " + kind.what + " is a file", "name a file in it");
  if (S_ISBLK(status.st_mode) || S_ISSOCK(status.st_mode))
    throw UsageError(path.string() + " is a " + (S_ISBLK(status.st_mode) ? "disk" : "socket") + ", and is not written to", kind.instead);
  if (chosen == Chosen::by_program && !S_ISREG(status.st_mode))
    throw UsageError(path.string() + " is a " + (S_ISFIFO(status.st_mode) ? "pipe" : "device") + ", and a " + kind.what + " is a file",
                     kind.instead + ", or move that one away");
  if (is_standard_output(status)) kind_ = Kind::standard_output;
  else if (!S_ISREG(status.st_mode)) kind_ = Kind::open;
  else if (!is_of(kind, path))
    throw UsageError(path.string() + " exists and is not a " + kind.what + " of ffn-train, so it is not overwritten",
                     kind.instead + ", or move that one away");
  else path_ = fs::canonical(path);
}

void NamedFile::write(const std::string& bytes) const {
  if (kind_ == Kind::file) return write_file_atomically(path_, bytes, Durability::cached);
  Descriptor file;
  if (kind_ == Kind::open) {
    file = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.is_open()) throw SystemError("cannot open " + path_.string() + ": " + std::strerror(errno));
  }
  if (!write_all(file.is_open() ? file.get() : STDOUT_FILENO, bytes) || !file.close())
    throw SystemError("cannot write " + path_.string() + ": " + std::strerror(errno));
}

}  // namespace ffn
