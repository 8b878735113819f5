// Golden bytes and the text of every refusal. The first golden file was written by Python's safetensors package.
#include <algorithm>
#include <cstring>

#include "ffn/base/error.hpp"
#include "ffn/store/safetensors.hpp"
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

TEST_CASE("what cannot be written is refused with every reason") {
  TensorFile file;
  file.tensors = {
      {"w", DType::f32, {2}, "1234"}, {"w", DType::f32, {}, "1234"}, {"__metadata__", DType::u8, {0}, ""}, {"\xff", DType::u8, {-1}, ""}};
  file.metadata = {{"bad", "\xc3"}};

  const std::string text = message_of<CheckpointError>([&] { safetensors_bytes(file); });

  CHECK(text ==
        "cannot write these tensors: 6 problems\n"
        "  tensor \"w\": F32 [2] needs 8 bytes, got 4\n"
        "  tensor \"w\" stands here twice\n"
        "  tensor \"__metadata__\": the name is reserved\n"
        "  tensor \"�\": the name is not valid UTF-8\n"
        "  tensor \"�\": U8 [-1] needs too many bytes, got 0\n"
        "  metadata \"bad\" is not valid UTF-8");
}

TEST_CASE("a file that is cut off or no safetensors file says so") {
  CHECK(refusal("") == "f: cut off: 0 bytes, the header's length alone takes 8");
  CHECK(refusal(kGolden.substr(0, 50)) == "f: cut off in the header: 88 bytes announced, 42 left");
  CHECK(refusal(kGolden.substr(0, 95)) == "f: cut off in the header: 88 bytes announced, 87 left");
  CHECK(refusal(kGolden.substr(0, kGolden.size() - 1)) ==
        "f: \"w\": data_offsets [0,8] lie outside the data (7 bytes); is the file cut off?");
  CHECK(refusal("PK\x03\x04 a zip archive") ==
        "f: no safetensors file: a header of 8800140462016121680 bytes, at most 100000000 are allowed");
  CHECK(refusal(std::string(8, '\xff')) == "f: no safetensors file: a header of 18446744073709551615 bytes, at most 100000000 are allowed");
  CHECK(refusal(file_with("", 0)) == "f: no safetensors file: the header does not start with '{'");
  CHECK(refusal(file_with(" {}", 0)) == "f: no safetensors file: the header does not start with '{'");
  CHECK(refusal(file_with("{}\n", 0)) == "f: the header does not end with '}' and spaces");
  CHECK(refusal(file_with("{\"\xff\":1}", 0)) == "f: the header is not valid UTF-8 at byte 10");
  CHECK(refusal(file_with("{\"w\":}", 0)) == "f: the header is not valid JSON at byte 14");
  CHECK(refusal(file_with("{} {}", 0)) == "f: the header is not valid JSON at byte 12");
  CHECK(refusal(file_with(R"({"w":1e999})", 0)) == "f: the header has a number out of range");
}

TEST_CASE("a header that describes no tensor is refused entry by entry") {
  const auto entry = [](const std::string& body) { return refusal(file_with("{\"w\":" + body + "}", 8)); };

  CHECK(entry("3") == "f: \"w\": expected an object, got 3");
  CHECK(entry("{}") == "f: 3 problems\n  \"w\": dtype is missing\n  \"w\": shape is missing\n  \"w\": data_offsets is missing");
  CHECK(entry(R"({"dtype":"BF16","shape":[4],"data_offsets":[0,8]})") ==
        "f: \"w\": dtype \"BF16\" is none that ffn-train reads (F32, F64, I32, I64, U8)");
  CHECK(entry(R"({"dtype":7,"shape":[4],"data_offsets":[0,8]})") ==
        "f: \"w\": dtype 7 is none that ffn-train reads (F32, F64, I32, I64, U8)");
  CHECK(entry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})") == "f: \"w\": shape: expected a list of sizes, got [-2]");
  CHECK(entry(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})") == "f: \"w\": shape: expected a list of sizes, got [2.0]");
  CHECK(entry(R"({"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]})") ==
        "f: \"w\": shape: expected a list of sizes, got [9223372036854775808]");
  CHECK(entry(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})") == "f: \"w\": shape: expected a list of sizes, got 2");
  CHECK(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})") == "f: \"w\": data_offsets: expected [begin, end], got [0]");
  CHECK(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[-8,0]})") == "f: \"w\": data_offsets: expected [begin, end], got [-8,0]");
  CHECK(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})") == "f: \"w\": data_offsets [8,0] end before they begin");
  CHECK(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1})") == "f: \"w\": unknown key \"extra\"");
}

TEST_CASE("a shape and its bytes have to agree, also where the product overflows") {
  const auto shaped = [](const std::string& shape) {
    return refusal(file_with("{\"w\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[0,8]}}", 8));
  };

  CHECK(shaped("[3]") == "f: \"w\": F32 [3] needs 12 bytes, data_offsets span 8");
  CHECK(shaped("[4294967296, 4294967296]") == "f: \"w\": F32 [4294967296, 4294967296] is too large, data_offsets span 8");
  // 2^62 + 2 elements of 4 bytes are 8 bytes modulo 2^64.
  CHECK(shaped("[4611686018427387906]") == "f: \"w\": F32 [4611686018427387906] is too large, data_offsets span 8");
}

TEST_CASE("every byte of the data belongs to exactly one tensor") {
  const auto two = [](const std::string& first, const std::string& second) {
    return refusal(file_with("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + first +
                                 "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + second + "}}",
                             10));
  };

  CHECK(two("[0,4]", "[2,6]") ==
        "f: 2 problems\n  \"b\": begins at 2, inside the tensor that ends at 4\n  4 bytes that belong to no tensor at the end");
  CHECK(two("[6,10]", "[1,5]") ==
        "f: 2 problems\n  \"b\": 1 byte that belongs to no tensor before it\n  \"a\": 1 byte that belongs to no tensor before it");
  CHECK(two("[0,4]", "[4,8]") == "f: 2 bytes that belong to no tensor at the end");
  CHECK(refusal(file_with("{}", 1)) == "f: 1 byte that belongs to no tensor at the end");
}

TEST_CASE("duplicate names and metadata that is no text are refused") {
  const std::string entry = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";

  CHECK(refusal(file_with("{\"w\":" + entry + ",\"w\":" + entry + "}", 8)) == "f: the header has \"w\" twice");
  CHECK(refusal(file_with(R"({"__metadata__":{"a":"1","a":"2"}})", 0)) == "f: the header has \"a\" twice");
  CHECK(refusal(file_with(R"({"__metadata__":{"a":1,"b":null}})", 0)) ==
        "f: 2 problems\n  __metadata__: \"a\": expected a string, got 1\n  __metadata__: \"b\": expected a string, got null");
  CHECK(refusal(file_with(R"({"__metadata__":"pt"})", 0)) == "f: __metadata__: expected an object, got \"pt\"");
}

TEST_CASE("a hostile header exhausts neither the stack nor the reader's patience") {
  const std::size_t depth = 1'000'000;
  CHECK(refusal(file_with("{\"w\":" + std::string(depth, '[') + std::string(depth, ']') + "}", 0)) ==
        "f: no safetensors file: the header is nested too deeply");

  std::string many = "{\"w0\":0";
  for (int i = 1; i < 1000; ++i) many += ",\"w" + std::to_string(i) + "\":0";
  const std::string text = refusal(file_with(many + "}", 0));
  CHECK(std::count(text.begin(), text.end(), '\n') == 21);
  CHECK(text.substr(text.rfind('\n')) == "\n  and perhaps more");
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
  CHECK(message_of<CheckpointError>([&] { read_safetensors(missing); }) ==
        missing.string() + ": cut off: 5 bytes, the header's length alone takes 8");
}
