// Damaged files: whatever the bytes, the reader either reads or throws CheckpointError. Most telling with sanitizers.
#include "ffn/base/error.hpp"
#include "ffn/base/safetensors.hpp"
#include "fuzz/damage.hpp"

using namespace ffn;

namespace {

struct Outcome {
  std::uint64_t read = 0, refused = 0;

  // Anything but CheckpointError passes through and fails the test.
  void parse(const std::string& bytes) {
    try {
      const TensorFile file = parse_safetensors(bytes, "fuzz");
      std::size_t data = 0;
      for (const auto& tensor : file.tensors) data += tensor.bytes.size();
      if (data > bytes.size()) throw std::logic_error("more data than the file has");
      ++read;
    } catch (const CheckpointError&) {
      ++refused;
    }
  }
};

std::string sample_file() {
  TensorFile file;
  file.tensors = {{"block.0.up.weight", DType::f32, {4, 2}, std::string(32, '\1')},
                  {"steps", DType::i64, {}, std::string(8, '\2')},
                  {"mask", DType::u8, {3}, std::string(3, '\3')}};
  file.metadata = {{"config", R"({"seed": 0})"}, {"format", "pt"}};
  return safetensors_bytes(file);
}

std::size_t header_end(const std::string& file) {
  return 8 + static_cast<unsigned char>(file[0]) + 256u * static_cast<unsigned char>(file[1]);
}

}  // namespace

TEST_CASE("random bytes over a file are read or refused, never anything else") {
  const std::string good = sample_file();
  Outcome outcome;
  for (std::uint64_t trial = 0; trial < fuzz::trials(20'000); ++trial) {
    RandomStream random(1, trial);
    std::string bytes = good;
    const auto changes = 1 + random.below(4);
    for (std::uint32_t i = 0; i < changes; ++i)
      bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<char>(random.bits());
    outcome.parse(bytes);
  }

  CHECK(outcome.read + outcome.refused == fuzz::trials(20'000));
  CHECK(outcome.read > 100);  // changes in the data alone leave a readable file
  CHECK(outcome.refused > 10'000);
}

TEST_CASE("a file cut anywhere or with anything behind it is refused") {
  const std::string good = sample_file();
  Outcome outcome;
  for (std::size_t length = 0; length < good.size(); ++length) outcome.parse(good.substr(0, length));
  for (std::size_t more = 1; more < 20; ++more) outcome.parse(good + std::string(more, '\0'));

  CHECK(outcome.read == 0);
  CHECK(outcome.refused == good.size() + 19);
}

TEST_CASE("characters of JSON thrown into the header are read or refused") {
  const std::string good = sample_file();
  const std::string alphabet = "{}[]\",:0123456789-+.eE\\u tfn";
  Outcome outcome;
  for (std::uint64_t trial = 0; trial < fuzz::trials(20'000); ++trial) {
    RandomStream random(2, trial);
    std::string bytes = good;
    const auto header = static_cast<std::uint32_t>(header_end(good) - 8);
    const auto changes = 1 + random.below(3);
    for (std::uint32_t i = 0; i < changes; ++i)
      bytes[8 + random.below(header)] = alphabet[random.below(static_cast<std::uint32_t>(alphabet.size()))];
    outcome.parse(bytes);
  }

  CHECK(outcome.read + outcome.refused == fuzz::trials(20'000));
  CHECK(outcome.refused > 10'000);
}
