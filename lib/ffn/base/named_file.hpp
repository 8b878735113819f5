// Writing to a path that a person named: nothing that is there is replaced unless it is an earlier file of the same kind of ours.
#pragma once

#include <filesystem>
#include <string>

namespace ffn {

/// A kind of file that this program writes.
struct FileKind {
  std::string what;  ///< its name for errors: "report"
  std::string mark;  ///< which all of them have within their first kilobyte
  enum class Place { anywhere, beginning } place = Place::anywhere;
  std::string instead = "name another file";  ///< hint if another file is in the way
};

/// Whether the file is empty or has the kind's mark. Throws UsageError where it cannot be read.
bool is_of(const FileKind& kind, const std::filesystem::path& path);

/// Chooser of a path. A pipe or device at a path that the user did not name is an error and is not read.
enum class Chosen { by_person, by_program };

class NamedFile {
 public:
  /// Links are followed. Throws UsageError for a directory, a disk, a file without the kind's mark that is not empty, and for all but files
  /// under a name of the program's own choice.
  NamedFile(const std::filesystem::path& path, const FileKind& kind, Chosen chosen = Chosen::by_person);

  /// A new file, or an earlier one replaced, at once; into pipes and devices as it is.
  void write(const std::string& bytes) const;

  bool is_stdout() const { return kind_ == Kind::standard_output; }

 private:
  enum class Kind { file, standard_output, open };
  std::filesystem::path path_;
  Kind kind_ = Kind::file;
};

}  // namespace ffn
