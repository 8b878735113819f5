// What the checksum in a safetensors file's metadata is of.
#pragma once

#include <string>

#include "ffn/base/tensor_data.hpp"

namespace ffn::record_detail {

inline constexpr const char* kMetadata = "__metadata__";  ///< the header's key for text
inline constexpr const char* kChecksum = "ffn_checksum";

/// Of the tensors, by name, and of all other metadata.
std::string content_checksum(const TensorFile& file);

}  // namespace ffn::record_detail
