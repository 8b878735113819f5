// Writes and reads safetensors. The reader trusts nothing: sizes and offsets are checked before a byte is copied.
#include "ffn/base/safetensors.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/base/checksum.hpp"
#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/text.hpp"

namespace ffn {
namespace {

constexpr const char* kMetadata = "__metadata__";  // the header's key for text
constexpr const char* kTensorChecksum = "ffn_checksum";
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;                   // the reference reader's limit
constexpr std::uintmax_t kMaxTensorFileBytes = std::uintmax_t{1} << 36;  // 64 GiB: far beyond our models
// In the reference writer's order, whose enum of dtypes is sorted by alignment: tensor.rs, `enum Dtype`.
constexpr DType kDTypes[] = {DType::i64, DType::f64, DType::f32, DType::i32, DType::u8};

auto alignment_rank(DType dtype) { return std::find(std::begin(kDTypes), std::end(kDTypes), dtype); }

std::string json_string(const std::string& text) { return dump_json(text); }

std::string header_text(const std::vector<const TensorData*>& tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(json_string(key) + ":" + json_string(value));
    entries.push_back(json_string(kMetadata) + ":{" + join(pairs, ",") + "}");
  }
  std::size_t begin = 0;
  for (const auto* tensor : tensors) {
    const std::size_t end = begin + tensor->bytes.size();
    entries.push_back(json_string(tensor->name) + ":{\"dtype\":\"" + dtype_name(tensor->dtype) + "\",\"shape\":" +
                      dump_json(tensor->shape) + ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}");
    begin = end;
  }
  std::string header = "{" + join(entries, ",") + "}";
  header.append((8 - header.size() % 8) % 8, ' ');  // the data that follows is aligned for a reader that maps the file
  return header;
}

// The checksum of the tensors, by name, and of all other metadata.
std::string content_checksum(const TensorFile& file) {
  Checksum sum;
  const auto add = [&](const std::string& text) { sum.add(text.c_str(), text.size() + 1); };  // the 0 ends it
  for (const auto& [key, value] : file.metadata) {
    if (key != kTensorChecksum) {
      add(key);
      add(value);
    }
  }
  std::map<std::string, const TensorData*> by_name;
  for (const auto& tensor : file.tensors) by_name[tensor.name] = &tensor;
  for (const auto& [name, tensor] : by_name) {
    add(name + " " + dtype_name(tensor->dtype) + " " + shape_text(tensor->shape));
    sum.add(tensor->bytes);
  }
  return sum.text();
}

[[noreturn]] void refuse(const std::string& source, const std::string& problem) {
  throw CheckpointError(source + ": " + problem,
                        "the file is damaged or of another kind; use another copy, or train the run again with --fresh");
}

DType dtype_named(const std::string& name, const std::string& source) {
  for (const DType dtype : kDTypes) {
    if (name == dtype_name(dtype)) return dtype;
  }
  refuse(source, "dtype " + json_string(name) + " is none that ffn-train reads");
}

}  // namespace

void add_checksum(TensorFile& file) { file.metadata[kTensorChecksum] = content_checksum(file); }
bool has_checksum(const TensorFile& file) { return file.metadata.count(kTensorChecksum) > 0; }

std::string safetensors_bytes(const TensorFile& file) {
  std::vector<const TensorData*> tensors;
  for (const auto& tensor : file.tensors) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(), [](const TensorData* a, const TensorData* b) {
    const auto *const left = alignment_rank(a->dtype), *const right = alignment_rank(b->dtype);
    return left != right ? left < right : a->name < b->name;
  });
  const std::string header = header_text(tensors, file.metadata);
  std::string bytes;
  std::size_t size = kLengthBytes + header.size();
  for (const auto* tensor : tensors) size += tensor->bytes.size();
  bytes.reserve(size);  // growing, it would take up to twice as much
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes.push_back(static_cast<char>(header.size() >> 8 * i & 0xFF));
  bytes += header;
  for (const auto* tensor : tensors) bytes += tensor->bytes;
  return bytes;
}

TensorFile parse_safetensors(const std::string& bytes, const std::string& source) {
  if (bytes.size() < kLengthBytes) refuse(source, "cut off in the header");
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kMaxHeaderBytes) refuse(source, "no safetensors file: its header would have " + std::to_string(length) + " bytes");
  if (length > bytes.size() - kLengthBytes) refuse(source, "cut off in the header");
  const std::string header_bytes = bytes.substr(kLengthBytes, length);
  const std::string data = bytes.substr(kLengthBytes + length);
  // Sorted keys, not ffn::Json, in which looking up a key is linear. A NUL would end the text for the parser.
  const auto header = nlohmann::json::parse(header_bytes, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object() || header_bytes.find('\0') != std::string::npos) refuse(source, "the header is not a JSON object");
  TensorFile file;
  struct Span {
    std::uint64_t begin, end;
    TensorData tensor;
  };
  std::vector<Span> spans;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) {
        entry.get_to(file.metadata);
        continue;
      }
      for (const auto& size : entry.at("shape")) {
        if (!size.is_number_unsigned()) refuse(source, json_string(name) + " has no shape");
      }
      const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
      spans.push_back(
          {offsets[0],
           offsets[1],
           {name, dtype_named(entry.at("dtype").get<std::string>(), source), entry.at("shape").get<std::vector<std::int64_t>>(), ""}});
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(source, std::string("the header describes no tensors: ") + error.what());
  }
  // Every byte of the data belongs to exactly one tensor.
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t reached = 0;
  for (auto& [begin, end, tensor] : spans) {
    const auto size = tensor_bytes(tensor.dtype, tensor.shape);
    if (begin != reached || end < begin || end > data.size() || !size || static_cast<std::uint64_t>(*size) != end - begin)
      refuse(source, json_string(tensor.name) + ": its data_offsets do not fit its shape, its neighbours or the file");
    tensor.bytes = data.substr(begin, end - begin);
    file.tensors.push_back(std::move(tensor));
    reached = end;
  }
  if (reached != data.size()) refuse(source, std::to_string(data.size() - reached) + " bytes at the end belong to no tensor");
  const auto checksum = file.metadata.find(kTensorChecksum);
  if (checksum != file.metadata.end() && checksum->second != content_checksum(file)) refuse(source, "damaged: its checksum differs");
  return file;
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  std::string bytes;
  try {
    bytes = read_file(path, "safetensors file", ExitCode::data, kMaxTensorFileBytes);
  } catch (const DataError& error) {
    throw CheckpointError(error.what(), error.hint());  // one type for "these weights cannot be had"
  }
  return parse_safetensors(bytes, path.string());
}

}  // namespace ffn
