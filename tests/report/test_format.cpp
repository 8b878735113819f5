#include <cmath>
#include <limits>

#include "ffn/report/format.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("counts have a comma every three digits") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(2'099'712) == "2,099,712");
  CHECK(format_count(-100) == "-100");
  CHECK(format_count(-123'456) == "-123,456");
  CHECK(format_count(INT64_MIN) == "-9,223,372,036,854,775,808");
}

TEST_CASE("short numbers have two digits and a unit, and no rounding gives four digits") {
  CHECK(format_short(0) == "0");
  CHECK(format_short(7) == "7");
  CHECK(format_short(0.53) == "0.5");
  CHECK(format_short(9.96) == "10");
  CHECK(format_short(850) == "850");
  CHECK(format_short(999.4) == "999");
  CHECK(format_short(999.5) == "1.0k");
  CHECK(format_short(1234) == "1.2k");
  CHECK(format_short(34'400) == "34k");
  CHECK(format_short(999'600) == "1.0M");
  CHECK(format_short(3.4e6) == "3.4M");
  CHECK(format_short(2e9) == "2.0G");
  CHECK(format_short(1.5e15) == "1500T");
  CHECK(format_short(-1234) == "-1.2k");
  CHECK(format_short(kNan) == "nan");
  CHECK(format_short(-kInfinity) == "-inf");
}

TEST_CASE("durations are in one or two units and round into the next one") {
  CHECK(format_duration(0) == "0 ms");
  CHECK(format_duration(0.00034) == "0.3 ms");
  CHECK(format_duration(0.00096) == "1 ms");
  CHECK(format_duration(0.35) == "350 ms");
  CHECK(format_duration(0.9994) == "999 ms");
  CHECK(format_duration(0.9996) == "1.0 s");
  CHECK(format_duration(3.46) == "3.5 s");
  CHECK(format_duration(9.97) == "10 s");
  CHECK(format_duration(59.4) == "59 s");
  CHECK(format_duration(59.6) == "1 min");
  CHECK(format_duration(72) == "1 min 12 s");
  CHECK(format_duration(119.7) == "2 min");
  CHECK(format_duration(3599.7) == "1 h");
  CHECK(format_duration(7'500) == "2 h 5 min");
  CHECK(format_duration(86'399) == "1 d");
  CHECK(format_duration(3 * 86'400 + 4 * 3'600) == "3 d 4 h");
  CHECK(format_duration(-1) == "?");
  CHECK(format_duration(kNan) == "?");
  CHECK(format_duration(kInfinity) == "?");
}

TEST_CASE("significant digits are kept, also zeros and after rounding up") {
  CHECK(format_significant(0.01234) == "0.0123");
  CHECK(format_significant(1.5) == "1.50");
  CHECK(format_significant(9.996) == "10.0");
  CHECK(format_significant(0.0009996) == "0.00100");
  CHECK(format_significant(123.4) == "123");
  CHECK(format_significant(12345.6) == "12346");
  CHECK(format_significant(999'999.9) == "1.00e+06");
  CHECK(format_significant(0.000031, 2) == "3.1e-05");
  CHECK(format_significant(0.0001) == "0.000100");
  CHECK(format_significant(-2.71828, 4) == "−2.718");
  CHECK(format_significant(0) == "0.00");
  CHECK(format_significant(5, 1) == "5");
  CHECK(format_significant(kNan) == "nan");
  CHECK(format_significant(kInfinity) == "inf");
}

TEST_CASE("percentages and bytes") {
  CHECK(format_percent(0.975) == "97.5 %");
  CHECK(format_percent(1, 0) == "100 %");
  CHECK(format_percent(-0.031, 2) == "−3.10 %");
  CHECK(format_percent(kNan) == "nan");
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(512) == "512 B");
  CHECK(format_bytes(1'234) == "1.2 kB");
  CHECK(format_bytes(999'999) == "1.0 MB");
  CHECK(format_bytes(3.4e9) == "3.4 GB");
}

TEST_CASE("a number has the digits that its uncertainty deserves") {
  CHECK(format_with(45.03, 9.76) == "45.0");
  CHECK(format_with(45.03, 97) == "45");
  CHECK(format_with(0.51234, 0.0123) == "0.512");
  CHECK(format_with(12345.6, 2000) == "12346");
  CHECK(format_with(-0.0001, 0.5) == "0.00");
  CHECK(format_with(-0.51234, 0.0123) == "−0.512");
  CHECK(format_with(-0.25, 0) == "−0.250");
  CHECK(format_with(0.25, 0) == "0.250");
  CHECK(format_with(0.25, kInfinity) == "0.250");
  CHECK(format_with(kNan, 1) == "nan");
  CHECK(format_signed(-4.5, 6.5) == "−4.5");
  CHECK(format_signed(11.5, 6.5) == "+11.5");
  CHECK(format_signed(0, 6.5) == "0.0");
  CHECK(format_signed(-kInfinity, 1) == "−∞");
  CHECK(format_signed(kInfinity, 1) == "+∞");
}

TEST_CASE("a sentence and a table round a tie alike") {
  for (const double value : {0.5, 1.5, 33.5, 34.5, 35.5, 1234.5}) {
    INFO(value);
    std::string in_sentence = format_with(value, 11);
    CHECK(format_rounded(value) == (value > 1000 ? in_sentence.insert(1, ",") : in_sentence));
  }
  CHECK(format_rounded(34.5) == "34");
}
