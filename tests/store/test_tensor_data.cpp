#include "ffn/base/tensor_data.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {
TensorData tensor(const std::string& name, std::vector<std::int64_t> shape, DType dtype = DType::f32) {
  return {name, dtype, std::move(shape), ""};
}
using Lines = std::vector<std::string>;
}  // namespace

TEST_CASE("tensors that fit have no differences, in whatever order they come") {
  const std::vector<TensorData> expected = {tensor("a", {2, 3}), tensor("b", {})};

  CHECK(tensor_differences(expected, {tensor("b", {}), {"a", DType::f32, {2, 3}, "bytes are ignored"}}).empty());
  CHECK(tensor_differences({}, {}).empty());
}

TEST_CASE("every difference between two lists of tensors has its line") {
  const std::vector<TensorData> expected = {tensor("w1", {8, 32}), tensor("w2", {32, 8}), tensor("b", {8}), tensor("both", {1})};
  const std::vector<TensorData> found = {tensor("extra", {}, DType::i64), tensor("w1", {8, 16}), tensor("b", {8}, DType::f64),
                                         tensor("both", {2}, DType::u8)};

  CHECK(tensor_differences(expected, found) == Lines{"w1: expected shape [8, 32], found [8, 16]", "missing: w2 F32 [32, 8]",
                                                     "b: expected dtype F32, found F64", "both: expected shape [1], found [2]",
                                                     "both: expected dtype F32, found U8", "unexpected: extra I64 []"});
}

TEST_CASE("the bytes of a tensor are its elements times their size, or nothing where that overflows") {
  CHECK(tensor_bytes(DType::f32, {}) == 4);
  CHECK(tensor_bytes(DType::f64, {3, 5}) == 120);
  CHECK(tensor_bytes(DType::u8, {7, 0}) == 0);
  CHECK(tensor_bytes(DType::u8, {INT64_MAX}) == INT64_MAX);
  CHECK_FALSE(tensor_bytes(DType::i32, {INT64_MAX}));
  CHECK_FALSE(tensor_bytes(DType::u8, {std::int64_t{1} << 32, std::int64_t{1} << 32}));
  CHECK_FALSE(tensor_bytes(DType::f32, {-1}));
}
