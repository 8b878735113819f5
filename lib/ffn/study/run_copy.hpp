// Copies of whole run directories.
#pragma once

#include <filesystem>
#include <string>

namespace ffn {

/// What lies in the way of a copy: nothing or an empty directory, or a run that gives way to it.
enum class InTheWay { nothing, lesser };

/// The run appears whole at `to`, flushed; what gave way to it has stepped aside. Returns where that went, or nothing. Throws Error for
/// what cannot be read or written, std::filesystem::filesystem_error where something came in the way meanwhile.
std::filesystem::path copy_run(const std::filesystem::path& from, const std::filesystem::path& to, InTheWay there);

/// What killed copies of this run left. Only where nobody else copies it.
void remove_incoming(const std::filesystem::path& run);

}  // namespace ffn
