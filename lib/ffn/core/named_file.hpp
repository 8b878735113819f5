// Writing to a path that a person named: nothing that is there is replaced unless it is an earlier file of the same kind of ours.
#pragma once

#include <filesystem>
#include <string>

namespace ffn {

class NamedFile {
 public:
  /// `mark` is what files of this kind have within their first kilobyte, `what` their name for errors ("report"). Links are followed.
  /// Throws UsageError for a directory, a disk, and a file without the mark that is not empty.
  NamedFile(const std::filesystem::path& path, const std::string& what, const std::string& mark);

  /// A new file, or an earlier one replaced, at once; into pipes and devices as it is.
  void write(const std::string& bytes) const;

  bool is_stdout() const { return kind_ == Kind::standard_output; }

 private:
  enum class Kind { file, standard_output, open };
  std::filesystem::path path_;
  Kind kind_ = Kind::file;
};

}  // namespace ffn
