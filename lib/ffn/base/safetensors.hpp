// Files of tensors that Python reads: safetensors. Format: https://github.com/huggingface/safetensors (README, "Format"); u64 little-endian
// header length, a JSON header, the data.
#pragma once

#include <filesystem>
#include <string>

#include "ffn/base/tensor_data.hpp"

namespace ffn {

/// Puts a checksum of all tensors and all other metadata into the metadata, as "ffn_checksum": parse_safetensors() then tells
/// damage. Files of others do without.
void add_checksum(TensorFile& file);
bool has_checksum(const TensorFile& file);

/// The file's bytes: the same for equal input whatever its order. As the reference writer does it: tensors by descending
/// dtype alignment, then by name; the header padded with spaces to a multiple of 8.
std::string safetensors_bytes(const TensorFile& file);

/// Tensors in the order of their data. Throws CheckpointError naming `source` for damage, a checksum that differs included.
TensorFile parse_safetensors(const std::string& bytes, const std::string& source);

/// Throws CheckpointError, also for a file that is missing; ReadError for one that cannot be read.
TensorFile read_safetensors(const std::filesystem::path& path);

}  // namespace ffn
