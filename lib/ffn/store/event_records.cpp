#include "ffn/store/event_records.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace ffn {

namespace {

// ---- checksums

constexpr std::uint32_t kCastagnoli = 0x82F63B78;  // reflected

const std::array<std::uint32_t, 256>& crc_table() {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kCastagnoli : 0);
      out[byte] = crc;
    }
    return out;
  }();
  return table;
}

// ---- protobuf's encoding: a message is its fields, each a number with a wire type and a value

enum class Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <class Number>
std::string little_endian(Number value) {  // as are the machines that we build for
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

std::string tag(unsigned field, Wire wire) { return varint(field << 3 | static_cast<unsigned>(wire)); }
std::string integer_field(unsigned field, std::int64_t value) {
  return tag(field, Wire::varint) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(unsigned field, double value) { return tag(field, Wire::fixed64) + little_endian(value); }
std::string float_field(unsigned field, float value) { return tag(field, Wire::fixed32) + little_endian(value); }
std::string bytes_field(unsigned field, std::string_view bytes) {
  return tag(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}
std::string doubles_field(unsigned field, const std::vector<double>& values) {
  std::string packed;
  for (const double x : values) packed += little_endian(x);
  return bytes_field(field, packed);
}

// ---- messages; the numbers are those of the .proto files

// Event { double wall_time = 1; int64 step = 2; Summary summary = 5; }
std::string summary_event(double wall_time, std::int64_t step, const std::string& summary) {
  return event_record(double_field(1, wall_time) + (step == 0 ? "" : integer_field(2, step)) + bytes_field(5, summary));
}

// Summary { repeated Value value = 1; }   Value { string tag = 1; …one of several values }
std::string tagged(const std::string& name, const std::string& value) { return bytes_field(1, bytes_field(1, name) + value); }

// Value { SummaryMetadata metadata = 9; }   SummaryMetadata { PluginData plugin_data = 1; }
// PluginData { string plugin_name = 1; bytes content = 2; }
std::string hparams_event(double wall_time, const std::string& name, const std::string& content) {
  const std::string plugin = bytes_field(1, "hparams") + bytes_field(2, content);
  return summary_event(wall_time, 0, tagged(name, bytes_field(9, bytes_field(1, plugin))));
}

// google.protobuf.Value { double number_value = 2; string string_value = 3; bool bool_value = 4; }
std::string value_message(const std::string& text) {
  if (text == "true" || text == "false") return integer_field(4, text == "true");
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = read.ec == std::errc() && read.ptr == text.data() + text.size() && std::isfinite(number);
  return is_number ? double_field(2, number) : bytes_field(3, text);
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) crc = (crc >> 8) ^ crc_table()[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::string event_record(std::string_view message) {
  const std::string length = little_endian(static_cast<std::uint64_t>(message.size()));
  return length + little_endian(masked_crc32c(length)) + std::string(message) + little_endian(masked_crc32c(message));
}

// Event { string file_version = 3; }
std::string version_event(double wall_time) { return event_record(double_field(1, wall_time) + bytes_field(3, "brain.Event:2")); }

// Event { SessionLog session_log = 7; }   SessionLog { SessionStatus status = 1; }, START being 1
std::string beginning_event(double wall_time) { return event_record(double_field(1, wall_time) + bytes_field(7, integer_field(1, 1))); }

// Value { float simple_value = 2; }
std::string scalars_event(double wall_time, std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  std::string summary;
  for (const auto& [name, value] : values) summary += tagged(name, float_field(2, static_cast<float>(value)));
  return summary_event(wall_time, step, summary);
}

// Value { HistogramProto histo = 5; }
// HistogramProto { double min = 1; double max = 2; double num = 3; double sum = 4; double sum_squares = 5;
//                  repeated double bucket_limit = 6; repeated double bucket = 7; }
std::string histogram_event(double wall_time, std::int64_t step, const std::string& name, const std::vector<double>& values) {
  double low = INFINITY, high = -INFINITY, count = 0, sum = 0, squares = 0;
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
    ++count;
    sum += x;
    squares += x * x;
  }
  if (count == 0) return "";
  const std::size_t bins = high > low ? 40 : 1;
  const double width = high / static_cast<double>(bins) - low / static_cast<double>(bins);
  std::vector<double> limits, counts(bins);
  for (std::size_t bin = 1; bin < bins; ++bin)
    limits.push_back(std::min(low + width * static_cast<double>(bin), high));  // of ends a rounding apart it would be beyond
  limits.push_back(high);
  for (const double x : values) {
    if (!std::isfinite(x)) continue;
    const auto above = std::lower_bound(limits.begin(), limits.end(), x);  // a bucket reaches up to its limit, which belongs to it
    ++counts[static_cast<std::size_t>(above - limits.begin())];
  }
  const std::string histogram = double_field(1, low) + double_field(2, high) + double_field(3, count) + double_field(4, sum) +
                                double_field(5, squares) + doubles_field(6, limits) + doubles_field(7, counts);
  return summary_event(wall_time, step, tagged(name, bytes_field(5, histogram)));
}

// HParamsPluginData { SessionStartInfo session_start_info = 3; }
// SessionStartInfo { map<string, google.protobuf.Value> hparams = 1; string group_name = 4; double start_time_secs = 5; }
std::string session_start_event(double wall_time, const std::string& group, const std::map<std::string, std::string>& keys) {
  std::string session;
  for (const auto& [key, text] : keys) session += bytes_field(1, bytes_field(1, key) + bytes_field(2, value_message(text)));
  session += bytes_field(4, group) + double_field(5, wall_time);
  return hparams_event(wall_time, "_hparams_/session_start_info", bytes_field(3, session));
}

// HParamsPluginData { SessionEndInfo session_end_info = 4; }   SessionEndInfo { Status status = 1; double end_time_secs = 2; }
std::string session_end_event(double wall_time, SessionEnd end) {
  const std::string session = integer_field(1, static_cast<int>(end)) + double_field(2, wall_time);
  return hparams_event(wall_time, "_hparams_/session_end_info", bytes_field(4, session));
}

}  // namespace ffn
