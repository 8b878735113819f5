#include "ffn/base/checksum.hpp"

#define XXH_INLINE_ALL  // the header alone: nothing to link
#include <xxhash.h>

namespace ffn {

namespace {

std::string text_of(XXH128_hash_t hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "xxh3:";
  for (const std::uint64_t half : {hash.high64, hash.low64}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15];
  }
  return text;
}

}  // namespace

struct Checksum::State {
  XXH3_state_t xxh3;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;

void Checksum::add(const void* bytes, std::size_t size) {
  XXH3_128bits_update(&state_->xxh3, bytes, size);
  size_ += size;
}

std::string Checksum::text() const { return text_of(XXH3_128bits_digest(&state_->xxh3)); }

std::string checksum_of(const std::string& bytes) { return text_of(XXH3_128bits(bytes.data(), bytes.size())); }

}  // namespace ffn
