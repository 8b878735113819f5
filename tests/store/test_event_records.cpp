// TensorBoard's records against bytes from elsewhere; whole files are read back by tests/cli/test_export.py.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "ffn/store/event_file.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

std::string hex(const std::string& bytes) {
  static const char* const digits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) out += {digits[static_cast<unsigned char>(c) >> 4], digits[c & 15]};
  return out;
}

}  // namespace

// The first is TensorBoard's own test vector; the second that of CRC-32C (RFC 3720, B.4: 32 bytes of zeros give 8a9136aa), masked by hand.
TEST_CASE("a masked checksum is that of TensorBoard") {
  CHECK(masked_crc32c("\x1a\x11"
                      "CRC test, one two") == 0x5794d08a);
  const std::uint32_t zeros = 0x8a9136aa;
  CHECK(masked_crc32c(std::string(32, '\0')) == ((zeros >> 15 | zeros << 17) + 0xa282ead8));
}

// Golden bytes of records that TensorBoard has read.
TEST_CASE("a file's first record says its version") {
  CHECK(hex(version_event(1.0)) == "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a");
}

TEST_CASE("a scalar is a record of wall time, step, tag and value") {
  CHECK(hex(scalars_event(2.0, 7, {{"loss", 0.5}})) ==
        "1a00000000000000129bd82d09000000000000004010072a0d0a0b0a046c6f7373150000003fc33fc24a");
}

TEST_CASE("step 0 is left out, as protobuf leaves out zeros, and a large step takes several bytes") {
  CHECK(hex(scalars_event(2.0, 0, {{"loss", 0.5}})).substr(24, 22) == "0900000000000000402a0d");
  CHECK(hex(scalars_event(2.0, 300, {{"loss", 0.5}})).substr(24, 28) == "09000000000000004010ac022a0d");
}

// Event.session_log (7) with SessionLog.status (1) START (1), in protobuf's encoding by hand.
TEST_CASE("a file that begins anew says START") { CHECK(hex(beginning_event(2.0)).substr(24, 26) == "0900000000000000403a020801"); }

TEST_CASE("a histogram without finite values is none") {
  CHECK(histogram_event(1, 1, "w", {}).empty());
  CHECK(histogram_event(1, 1, "w", {0.0 / 0.0}).empty());
  CHECK_FALSE(histogram_event(1, 1, "w", {1, 1}).empty());
}

// HistogramProto.bucket_limit (6): 40 doubles, packed.
TEST_CASE("the limits of a histogram ascend and end with its largest value, also where rounding alone tells the values apart") {
  const std::string field = "\x32\xc0\x02";
  for (const double low : {-0.6623619825003786, 7.843249285359011, 3.91436324379754}) {
    double high = low;
    for (int i = 0; i < 3; ++i) high = std::nextafter(high, INFINITY);
    const std::string event = histogram_event(1, 1, "w", {low, high});
    const auto at = event.find(field);
    REQUIRE(at != std::string::npos);
    std::vector<double> limits(40);
    std::memcpy(limits.data(), event.data() + at + field.size(), limits.size() * sizeof(double));
    CHECK(std::is_sorted(limits.begin(), limits.end()));
    CHECK(limits.back() == high);
  }
}

// Nothing rests on the events of a run.
TEST_CASE("where events cannot be written, that is said and nothing is thrown") {
  EventFile file("/nowhere/at/all", RunConfig{}, "");
  file.append({{10, 0.5, 640, {{"val/loss", 0.25}}}});
  file.end(SessionEnd::success);
  SUCCEED();
}
