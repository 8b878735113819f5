// A tensor outside LibTorch: what crosses the engine boundary and goes into files. Standard library only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ffn {

enum class DType { f32, f64, i32, i64, u8 };

/// Bytes of one element.
constexpr std::size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// Name as safetensors writes it: "F32", "F64", "I32", "I64", "U8".
const char* dtype_name(DType dtype);

/// Bytes of a tensor of this shape; nothing if a dimension is negative or the product does not fit 63 bits.
std::optional<std::int64_t> tensor_bytes(DType dtype, const std::vector<std::int64_t>& shape);

/// "[8, 32]"; "[]" is a scalar.
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Row-major, little-endian. An empty shape is a scalar.
struct TensorData {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// The content of a file of tensors: the tensors, and strings about them (safetensors' __metadata__).
struct TensorFile {
  std::vector<TensorData> tensors;
  std::map<std::string, std::string> metadata;
};

/// The differences that keep `found` from replacing `expected`: a line per tensor that is missing, has another shape or
/// dtype, or is not expected. Bytes and order do not count. Empty if they fit.
std::vector<std::string> tensor_differences(const std::vector<TensorData>& expected, const std::vector<TensorData>& found);

}  // namespace ffn
