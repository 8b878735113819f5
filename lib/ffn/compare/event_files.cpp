// Records framed as in TensorFlow's tfrecord (length, masked CRC-32C, bytes, masked CRC-32C), each a protocol buffer `Event`:
// github.com/tensorflow/tensorboard, compat/proto/{event,summary,tensor}.proto.
#include "ffn/compare/event_files.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"

namespace ffn {

namespace {

template <class T>
T little_endian(std::string_view bytes) {
  T out;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

std::uint32_t masked_crc(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      out[i] = i;
      for (int bit = 0; bit < 8; ++bit) out[i] = (out[i] >> 1) ^ ((out[i] & 1) != 0 ? 0x82F63B78U : 0);  // Castagnoli's, reflected
    }
    return out;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

struct ProtoField {
  std::uint64_t number = 0, varint = 0;
  std::string_view bytes;  ///< of all but a varint
};

// The next field of a protocol buffer, taken off `rest`; nothing at its end, or where it cannot be read.
std::optional<ProtoField> take_field(std::string_view& rest) {
  const auto take_varint = [&]() -> std::optional<std::uint64_t> {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest[0]);
      rest.remove_prefix(1);
      out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return out;
    }
    return std::nullopt;
  };
  const auto key = take_varint();
  if (!key) return std::nullopt;
  ProtoField out{*key >> 3, 0, {}};
  const auto wire = *key & 7;
  const auto number = wire == 0 || wire == 2 ? take_varint() : wire == 1 ? 8 : wire == 5 ? std::optional<std::uint64_t>(4) : std::nullopt;
  if (!number || (wire != 0 && *number > rest.size())) return std::nullopt;
  if (wire == 0) {
    out.varint = *number;
  } else {
    out.bytes = rest.substr(0, *number);
    rest.remove_prefix(*number);
  }
  return out;
}

template <class T>
std::string scalar_text(std::string_view bytes) {
  if (bytes.size() != sizeof(T)) return "";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), little_endian<T>(bytes)).ptr;
  return {text.data(), end};
}

// A scalar as TensorFlow 2 and `new_style` write it; "" for any other tensor.
std::string tensor_text(std::string_view tensor) {
  constexpr std::uint64_t kFloat = 1, kDouble = 2;  // DataType, in types.proto
  std::uint64_t type = 0;
  std::string_view value;
  while (const auto field = take_field(tensor)) {
    if (field->number == 1) type = field->varint;
    if (field->number == 4 || field->number == 5 || field->number == 6) value = field->bytes;  // tensor_content, float_val, double_val
  }
  return type == kFloat ? scalar_text<float>(value) : type == kDouble ? scalar_text<double>(value) : "";
}

void add_event(std::string_view event, LoggedRun& out) {
  std::int64_t step = 0;
  std::string_view summary;
  while (const auto field = take_field(event)) {
    if (field->number == 2) step = static_cast<std::int64_t>(field->varint);
    if (field->number == 5) summary = field->bytes;
  }
  while (const auto item = take_field(summary)) {
    std::string tag, value;
    auto rest = item->bytes;
    while (const auto field = take_field(rest)) {
      if (field->number == 1) tag = field->bytes;
      if (field->number == 2) value = scalar_text<float>(field->bytes);
      if (field->number == 8) value = tensor_text(field->bytes);
    }
    if (!tag.empty() && !value.empty()) out.scalars[step][tag] = value;
  }
}

void read_event_file(const std::filesystem::path& path, LoggedRun& out) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 28;
  constexpr std::size_t kHead = 12, kTail = 4;
  const std::string text = read_input(path, "event file", ExitCode::data, kMostBytes);
  for (std::string_view rest = text; rest.size() >= kHead;) {
    const auto size = little_endian<std::uint64_t>(rest);
    const bool is_length = masked_crc(rest.substr(0, 8)) == little_endian<std::uint32_t>(rest.substr(8));
    if (is_length && (rest.size() < kHead + kTail || size > rest.size() - kHead - kTail)) return;
    const auto event = rest.substr(kHead, is_length ? size : 0);
    if (!is_length || masked_crc(event) != little_endian<std::uint32_t>(rest.substr(kHead + size)))
      throw DataError(path.string() + ": damaged at byte " + std::to_string(text.size() - rest.size()),
                      "copy it again, or leave its run out and say so");
    add_event(event, out);
    rest.remove_prefix(kHead + size + kTail);
  }
}

}  // namespace

std::vector<LoggedRun> read_event_files(const std::filesystem::path& directory) {
  std::map<std::filesystem::path, LoggedRun> runs;
  any_entry_below(directory, [&](const DirectoryEntry& entry) {
    if (entry.path.filename().string().find("tfevents") == std::string::npos || type_of(entry.path) != std::filesystem::file_type::regular)
      return false;
    auto& run = runs[entry.path.parent_path()];
    run.directory = entry.path.parent_path();
    read_event_file(entry.path, run);
    return false;
  });
  if (runs.empty())
    throw DataError(directory.string() + ": no TensorBoard event file is below it",
                    "ffn-train compare is for runs of this program; tables of others are CSV, TSV or JSON lines");
  std::vector<LoggedRun> out;
  for (auto& [name, run] : runs) {
    if (run.scalars.empty()) run.scalars[0];  // it logged nothing, and is a run
    out.push_back(std::move(run));
  }
  return out;
}

}  // namespace ffn
