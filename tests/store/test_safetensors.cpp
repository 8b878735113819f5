// Golden bytes and refusals. The first golden file was written by Python's safetensors package.
#include <algorithm>
#include <cstring>

#include "ffn/base/error.hpp"
#include "ffn/base/safetensors.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A file with this header, its true length in front, and so many zero bytes of data.
std::string file_with(const std::string& header, std::size_t data_bytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> 8 * i & 0xFF));
  return bytes + header + std::string(data_bytes, '\0');
}

std::string refusal(const std::string& bytes) {
  return message_of<CheckpointError>([&] { parse_safetensors(bytes, "f"); });
}

const std::string kGolden = std::string("\x58\0\0\0\0\0\0\0", 8) +
                            R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   )" +
                            std::string("\0\0\x80\x3f\0\0\0\xc0", 8);

}  // namespace

TEST_CASE("a small file has the bytes that the reference writer gives it") {
  const TensorFile file = {{{"w", DType::f32, {2}, floats({1.0f, -2.0f})}}, {{"format", "pt"}}};

  CHECK(safetensors_bytes(file) == kGolden);
}

TEST_CASE("the reference writer's file is read") {
  const TensorFile file = parse_safetensors(kGolden, "golden");

  REQUIRE(file.tensors.size() == 1);
  CHECK(file.tensors[0].name == "w");
  CHECK(file.tensors[0].dtype == DType::f32);
  CHECK(file.tensors[0].shape == std::vector<std::int64_t>{2});
  CHECK(file.tensors[0].bytes == floats({1.0f, -2.0f}));
  CHECK(file.metadata == std::map<std::string, std::string>{{"format", "pt"}});
}

TEST_CASE("tensors are written by descending alignment, then by name") {
  const std::string eight(8, 'x'), four(4, 'y');
  TensorFile file;
  file.tensors = {{"u", DType::u8, {1}, "z"},    {"b", DType::f32, {1}, four}, {"i", DType::i32, {1}, four},
                  {"d", DType::f64, {1}, eight}, {"a", DType::f32, {}, four},  {"l", DType::i64, {1, 1}, eight}};
  const std::string header =
      R"({"l":{"dtype":"I64","shape":[1,1],"data_offsets":[0,8]},"d":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[16,20]},"b":{"dtype":"F32","shape":[1],"data_offsets":[20,24]},)"
      R"("i":{"dtype":"I32","shape":[1],"data_offsets":[24,28]},"u":{"dtype":"U8","shape":[1],"data_offsets":[28,29]}})";

  const std::string bytes = safetensors_bytes(file);

  CHECK(bytes.substr(8, header.size()) == header);
  CHECK(bytes.find_first_not_of(' ', 8 + header.size()) % 8 == 0);
  CHECK(bytes.substr(bytes.size() - 29) == eight + eight + four + four + four + "z");

  std::reverse(file.tensors.begin(), file.tensors.end());
  CHECK(safetensors_bytes(file) == bytes);
}

TEST_CASE("names, metadata, scalars and empty tensors survive writing and reading") {
  TensorFile file;
  file.tensors = {{"blöck.0/\"w\"\n", DType::f64, {2, 1}, std::string(16, '\x7f')},
                  {"empty", DType::f32, {0, 5}, ""},
                  {"scalar", DType::u8, {}, "\xff"}};
  file.metadata = {{"config", R"({"a": "ü\n"})"}, {"", ""}};

  const TensorFile back = parse_safetensors(safetensors_bytes(file), "round trip");

  REQUIRE(back.tensors.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(back.tensors[i].name == file.tensors[i].name);
    CHECK(back.tensors[i].dtype == file.tensors[i].dtype);
    CHECK(back.tensors[i].shape == file.tensors[i].shape);
    CHECK(back.tensors[i].bytes == file.tensors[i].bytes);
  }
  CHECK(back.metadata == file.metadata);
  CHECK(parse_safetensors(safetensors_bytes({}), "nothing in it").tensors.empty());
}

TEST_CASE("a file that is cut off or no safetensors file says so") {
  CHECK(refusal("") == "f: cut off in the header");
  CHECK(refusal(kGolden.substr(0, 50)) == "f: cut off in the header");
  CHECK(refusal(kGolden.substr(0, 95)) == "f: cut off in the header");
  CHECK(refusal("PK\x03\x04 a zip archive") == "f: no safetensors file: its header would have 8800140462016121680 bytes");
  CHECK(refusal(std::string(8, '\xff')) == "f: no safetensors file: its header would have 18446744073709551615 bytes");
  const std::string deep(100'000, '[');
  for (const std::string& header : {std::string(), std::string("[]"), std::string("{\"\xff\":1}"), std::string("{\"w\":}"),
                                    std::string("{} {}"), std::string("{}\0", 3), std::string(R"({"w":1e999})"), "{\"w\":" + deep + "}"}) {
    INFO(header.substr(0, 20));
    CHECK(refusal(file_with(header, 0)) == "f: the header is not a JSON object");
  }
}

TEST_CASE("a header that describes no tensor is refused") {
  for (const char* entry : {"3", "{}", R"({"dtype":"F32","shape":[2]})", R"({"dtype":7,"shape":[2],"data_offsets":[0,8]})",
                            R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"}) {
    INFO(entry);
    CHECK(refusal(file_with(std::string("{\"w\":") + entry + "}", 8)).find("f: ") == 0);
  }
  const auto shaped = [](const std::string& dtype, const std::string& shape) {
    return refusal(file_with("{\"w\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[0,8]}}", 8));
  };
  CHECK(shaped("BF16", "[4]") == "f: dtype \"BF16\" is none that ffn-train reads");
  for (const char* shape : {"[-2]", "[2.0]"}) CHECK(shaped("F32", shape) == "f: \"w\" has no shape");
}

TEST_CASE("a shape and its bytes have to agree, also where the product overflows") {
  // 2^62 + 2 elements of 4 bytes are 8 bytes modulo 2^64.
  for (const char* shape : {"[3]", "[1]", "[4294967296, 4294967296]", "[4611686018427387906]", "[9223372036854775808]"}) {
    INFO(shape);
    const std::string header = std::string("{\"w\":{\"dtype\":\"F32\",\"shape\":") + shape + ",\"data_offsets\":[0,8]}}";
    CHECK(refusal(file_with(header, 8)) == "f: \"w\": its data_offsets do not fit its shape, its neighbours or the file");
  }
}

TEST_CASE("every byte of the data belongs to exactly one tensor") {
  const auto two = [](const std::string& first, const std::string& second) {
    return refusal(file_with("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + first +
                                 "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + second + "}}",
                             10));
  };
  const std::string misfit = ": its data_offsets do not fit its shape, its neighbours or the file";
  CHECK(two("[0,4]", "[2,6]") == "f: \"b\"" + misfit);
  CHECK(two("[6,10]", "[1,5]") == "f: \"b\"" + misfit);
  CHECK(two("[0,4]", "[8,12]") == "f: \"b\"" + misfit);
  CHECK(two("[4,0]", "[4,8]") == "f: \"a\"" + misfit);
  CHECK(two("[0,4]", "[4,8]") == "f: 2 bytes at the end belong to no tensor");
  CHECK(refusal(file_with("{}", 1)) == "f: 1 bytes at the end belong to no tensor");
}

TEST_CASE("metadata that is no text is refused") {
  CHECK(refusal(file_with(R"({"__metadata__":{"a":1}})", 0)).find("f: the header describes no tensors") == 0);
  CHECK(refusal(file_with(R"({"__metadata__":"pt"})", 0)).find("f: the header describes no tensors") == 0);
}

TEST_CASE("a file that is not there or cannot be read is a checkpoint error with the path") {
  const ScratchDirectory scratch;
  const auto missing = scratch.path() / "none.safetensors";

  CHECK(message_of<CheckpointError>([&] { read_safetensors(missing); }) == "no safetensors file at " + missing.string());
  CHECK(message_of<CheckpointError>([&] { read_safetensors(scratch.path()); }) ==
        scratch.path().string() + " is a directory, not a safetensors file");

  put(missing, kGolden);
  CHECK(read_safetensors(missing).tensors.size() == 1);
  put(missing, "short");
  CHECK(message_of<CheckpointError>([&] { read_safetensors(missing); }) == missing.string() + ": cut off in the header");
}
