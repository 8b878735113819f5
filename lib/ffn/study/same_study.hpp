// Whether several directories hold parts of one study, and what is known of it from all of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"

namespace ffn {

struct StudyPart {
  std::filesystem::path directory;
  JsonValue study;  ///< what its study.json says
};

/// Where it was read from is told in `notes` if that was the copy. Throws DataError for what is no study's directory.
StudyPart read_study_part(const std::filesystem::path& directory, std::vector<std::string>& notes);

/// Where two studies differ first ("document.train.steps"); empty if they are one. Neither the order of keys makes another study, nor who
/// trains it, nor, with a note, what makes no other run (a default that is written out). Texts count where both say which they learned.
std::string difference_of(const StudyPart& a, const StudyPart& b, std::vector<std::string>& notes);

/// What a part says that an older one did not: which texts and configs its variants have. Whether that is more than was known.
bool take_knowledge(StudyPart& part, const StudyPart& other);

/// Hexadecimal digits, the same for parts of one study that say the same.
std::string study_fingerprint(const StudyPart& part);

}  // namespace ffn
