// Reads safetensors, trusting nothing: every offset, size and product is checked before a byte is copied.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/store/safetensors.hpp"
#include "ffn/store/safetensors_checksum.hpp"
#include "ffn/store/text.hpp"

namespace ffn {
namespace {

using record_detail::kMetadata;
using record_detail::shown;
// Sorted keys here, not ffn::Json: looking a key up in an ordered_json is linear, and a hostile header has a million.
using HeaderJson = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;             // the reference reader's limit
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 36;  // 64 GiB: far beyond our models
constexpr std::size_t kMaxProblems = 20;                           // one cause can spoil every tensor; 20 lines show it
constexpr int kMaxDepth = 4;                                       // {"w": {"shape": [2]}} has 3; deeper could exhaust the stack
constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8};

[[noreturn]] void refuse(const std::string& source, const std::vector<std::string>& problems) {
  throw CheckpointError(record_detail::problem_list(source, problems),
                        "the file is damaged or of another kind; use another copy, or train the run again with --fresh");
}

struct TensorEntry {
  TensorData tensor;
  std::uint64_t begin = 0, end = 0;
};

class Parser {
 public:
  Parser(const std::string& bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  TensorFile parse() {
    const HeaderJson header = read_header();
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        read_metadata(value);
      } else {
        read_entry(name, value);
      }
    }
    if (problems_.empty()) check_layout();
    if (!problems_.empty()) refuse(source_, problems_);
    for (auto& entry : entries_) {
      entry.tensor.bytes = bytes_.substr(data_start_ + entry.begin, entry.end - entry.begin);
      file_.tensors.push_back(std::move(entry.tensor));
    }
    const auto checksum = file_.metadata.find(record_detail::kChecksum);
    if (checksum != file_.metadata.end() && checksum->second != record_detail::content_checksum(file_))
      refuse(source_, {"damaged: its checksum differs"});
    return std::move(file_);
  }

 private:
  void problem(const std::string& text) {
    problems_.push_back(text);
    if (problems_.size() < kMaxProblems) return;
    problems_.push_back("and perhaps more");
    refuse(source_, problems_);
  }

  bool wrong(const std::string& text) {
    problem(text);
    return false;
  }

  HeaderJson read_header() {
    if (bytes_.size() < kLengthBytes) {
      refuse(source_, {"cut off: " + std::to_string(bytes_.size()) + " bytes, the header's length alone takes 8"});
    }
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes_[i]);
    if (length > kMaxHeaderBytes) {
      refuse(source_, {"no safetensors file: a header of " + std::to_string(length) + " bytes, at most 100000000 are allowed"});
    }
    if (length > bytes_.size() - kLengthBytes) {
      refuse(source_, {"cut off in the header: " + std::to_string(length) + " bytes announced, " +
                       std::to_string(bytes_.size() - kLengthBytes) + " left"});
    }
    data_start_ = kLengthBytes + static_cast<std::size_t>(length);
    return parse_header(bytes_.substr(kLengthBytes, static_cast<std::size_t>(length)));
  }

  HeaderJson parse_header(const std::string& text) {
    if (text.empty() || text[0] != '{') refuse(source_, {"no safetensors file: the header does not start with '{'"});
    if (const auto offset = first_invalid_utf8(text)) {
      refuse(source_, {"the header is not valid UTF-8 at byte " + std::to_string(kLengthBytes + *offset)});
    }
    if (const auto nul = text.find('\0'); nul != std::string::npos) {  // the parser would take it for the end
      refuse(source_, {"the header has a NUL at byte " + std::to_string(kLengthBytes + nul)});
    }
    if (text[text.find_last_not_of(' ')] != '}') refuse(source_, {"the header does not end with '}' and spaces"});

    std::vector<std::set<std::string>> keys;  // of the objects that are open
    const auto watch = [&](int depth, HeaderJson::parse_event_t event, HeaderJson& value) {
      if (depth > kMaxDepth) refuse(source_, {"no safetensors file: the header is nested too deeply"});
      if (event == HeaderJson::parse_event_t::object_start) keys.emplace_back();
      if (event == HeaderJson::parse_event_t::object_end) keys.pop_back();
      if (event == HeaderJson::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
        problem("the header has " + shown(value.get<std::string>()) + " twice");
      }
      return true;
    };
    try {
      return HeaderJson::parse(text, watch);
    } catch (const HeaderJson::parse_error& error) {
      refuse(source_, {"the header is not valid JSON at byte " + std::to_string(kLengthBytes + error.byte)});
    } catch (const HeaderJson::exception&) {
      refuse(source_, {"the header has a number out of range"});
    }
  }

  void read_metadata(const HeaderJson& value) {
    if (!value.is_object()) return problem("__metadata__: expected an object, got " + shortened(value));
    for (const auto& [key, text] : value.items()) {
      if (text.is_string()) {
        file_.metadata[key] = text.get<std::string>();
      } else {
        problem("__metadata__: " + shown(key) + ": expected a string, got " + shortened(text));
      }
    }
  }

  void read_entry(const std::string& name, const HeaderJson& value) {
    const std::string place = shown(name) + ": ";
    if (!value.is_object()) return problem(place + "expected an object, got " + shortened(value));
    for (const auto& [key, unused] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") problem(place + "unknown key " + shown(key));
    }
    TensorEntry entry;
    entry.tensor.name = name;
    // All three are looked at before any counts, so that all problems are reported.
    const bool has_dtype = read_dtype(place, value, entry.tensor.dtype);
    const bool has_shape = read_shape(place, value, entry.tensor.shape);
    const bool has_offsets = read_offsets(place, value, entry);
    if (has_dtype && has_shape && has_offsets && check_size(place, entry)) entries_.push_back(std::move(entry));
  }

  bool read_dtype(const std::string& place, const HeaderJson& value, DType& dtype) {
    const auto found = value.find("dtype");
    if (found == value.end()) return wrong(place + "dtype is missing");
    std::vector<std::string> names;
    for (const DType known : kDTypes) {
      if (found->is_string() && found->get<std::string>() == dtype_name(known)) return dtype = known, true;
      names.push_back(dtype_name(known));
    }
    return wrong(place + "dtype " + shortened(*found) + " is none that ffn-train reads (" + join(names) + ")");
  }

  bool read_shape(const std::string& place, const HeaderJson& value, std::vector<std::int64_t>& shape) {
    const auto found = value.find("shape");
    if (found == value.end()) return wrong(place + "shape is missing");
    const auto is_size = [](const HeaderJson& x) { return x.is_number_unsigned() && x.get<std::uint64_t>() <= INT64_MAX; };
    if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_size)) {
      return wrong(place + "shape: expected a list of sizes, got " + shortened(*found));
    }
    shape = found->get<std::vector<std::int64_t>>();
    return true;
  }

  bool read_offsets(const std::string& place, const HeaderJson& value, TensorEntry& entry) {
    const auto found = value.find("data_offsets");
    if (found == value.end()) return wrong(place + "data_offsets is missing");
    if (!found->is_array() || found->size() != 2 || !(*found)[0].is_number_unsigned() || !(*found)[1].is_number_unsigned()) {
      return wrong(place + "data_offsets: expected [begin, end], got " + shortened(*found));
    }
    entry.begin = (*found)[0].get<std::uint64_t>();
    entry.end = (*found)[1].get<std::uint64_t>();
    const std::uint64_t available = bytes_.size() - data_start_;
    const std::string shown_pair = "[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]";
    if (entry.begin > entry.end) return wrong(place + "data_offsets " + shown_pair + " end before they begin");
    if (entry.end > available) {
      return wrong(place + "data_offsets " + shown_pair + " lie outside the data (" + std::to_string(available) +
                   " bytes); is the file cut off?");
    }
    return true;
  }

  bool check_size(const std::string& place, const TensorEntry& entry) {
    const auto needed = tensor_bytes(entry.tensor.dtype, entry.tensor.shape);
    if (needed && static_cast<std::uint64_t>(*needed) == entry.end - entry.begin) return true;
    const std::string what = std::string(dtype_name(entry.tensor.dtype)) + " " + shape_text(entry.tensor.shape);
    problem(place + what + (needed ? " needs " + std::to_string(*needed) + " bytes" : " is too large") + ", data_offsets span " +
            std::to_string(entry.end - entry.begin));
    return false;
  }

  /// Every byte of the data belongs to exactly one tensor.
  void check_layout() {
    const auto position = [](const TensorEntry& e) { return std::make_pair(e.begin, e.end); };
    std::stable_sort(entries_.begin(), entries_.end(),
                     [&](const TensorEntry& a, const TensorEntry& b) { return position(a) < position(b); });
    std::uint64_t reached = 0;
    for (const auto& entry : entries_) {
      if (entry.begin > reached) problem(shown(entry.tensor.name) + ": " + hole(reached, entry.begin) + " before it");
      if (entry.begin < reached) {
        problem(shown(entry.tensor.name) + ": begins at " + std::to_string(entry.begin) + ", inside the tensor that ends at " +
                std::to_string(reached));
      }
      reached = std::max(reached, entry.end);
    }
    const std::uint64_t available = bytes_.size() - data_start_;
    if (reached < available) problem(hole(reached, available) + " at the end");
  }

  static std::string hole(std::uint64_t from, std::uint64_t to) {
    return to - from == 1 ? "1 byte that belongs to no tensor" : std::to_string(to - from) + " bytes that belong to no tensor";
  }

  const std::string& bytes_;
  const std::string& source_;
  std::size_t data_start_ = 0;
  std::vector<TensorEntry> entries_;
  TensorFile file_;
  std::vector<std::string> problems_;
};

}  // namespace

TensorFile parse_safetensors(const std::string& bytes, const std::string& source) { return Parser(bytes, source).parse(); }

TensorFile read_safetensors(const std::filesystem::path& path) {
  std::string bytes;
  try {
    bytes = read_file(path, "safetensors file", ExitCode::data, kMaxFileBytes);
  } catch (const DataError& error) {
    throw CheckpointError(error.what(), error.hint());  // one type for "these weights cannot be had"
  }
  return parse_safetensors(bytes, path.string());
}

}  // namespace ffn
