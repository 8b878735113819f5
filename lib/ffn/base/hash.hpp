// SHA-256 (FIPS 180-4), for the identity of configs and data. No dependencies.
#pragma once

#include <string>

namespace ffn {

/// Lower-case hexadecimal SHA-256 of the bytes, 64 characters.
std::string sha256_hex(const std::string& bytes);

}  // namespace ffn
