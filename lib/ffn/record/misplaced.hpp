// Whether a run lies where it belongs: its directory is named after its variant and its seed.
#pragma once

#include <filesystem>
#include <string>

namespace ffn {

/// "is the run of seed 3" or "is a run of activation=gelu" for one that lies in another's directory; empty for one that does not, and where
/// nothing says where it belongs. The study's variants are asked of the study.json two levels above.
std::string misplaced(const std::filesystem::path& run);

}  // namespace ffn
