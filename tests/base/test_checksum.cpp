#include "ffn/base/checksum.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("checksums are XXH3's, as xxh128sum prints them") {
  CHECK(checksum_of("") == "xxh3:99aa06d3014798d86001c324468d497f");
  CHECK(checksum_of("abc") == "xxh3:06b05ab6733a618578af5f94892f3950");
  CHECK(checksum_of(std::string(1000, 'x')) == "xxh3:50a1af5a5f2dcf01c0a4877b962cba82");
}

TEST_CASE("a checksum does not depend on how the bytes come") {
  const std::string text(1000, 'x');
  Checksum sum;
  for (std::size_t begin = 0, size = 0; begin < text.size(); begin += size++) sum.add(text.substr(begin, size));
  CHECK(sum.text() == checksum_of(text));
  CHECK(sum.size() == 1000);
}
