// Checksums to detect damage: XXH3 with 128 bits, by the xxHash library. Not for identities (hash.hpp), and no protection against forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ffn {

/// Incremental checksum.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void add(const void* bytes, std::size_t size);
  void add(const std::string& bytes) { add(bytes.data(), bytes.size()); }
  /// The checksum of everything added so far: "xxh3:" and 32 lower-case hexadecimal digits.
  std::string text() const;
  std::uint64_t size() const { return size_; }  ///< bytes added

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::uint64_t size_ = 0;
};

/// The checksum of all bytes at once, as Checksum::text().
std::string checksum_of(const std::string& bytes);

}  // namespace ffn
