// SHA-256 against the vectors of FIPS 180-4 and of other implementations.
#include "ffn/base/hash.hpp"
#include "support/catch_plain.hpp"

using ffn::sha256_hex;

TEST_CASE("SHA-256 gives the vectors of FIPS 180-4") {
  // NIST, "Cryptographic Standards and Guidelines: example values", SHA-256; the last one from the SHA-2 test vectors.
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu") ==
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 pads every length around the block size rightly") {
  std::string hashes;
  for (std::size_t length = 0; length <= 130; ++length) hashes += sha256_hex(std::string(length, 'a'));
  REQUIRE(hashes.size() == 131 * 64);
  // Python: sha256("".join(sha256(b"a" * n).hexdigest() for n in range(131)).encode()).hexdigest()
  CHECK(sha256_hex(hashes) == "5eee4c50e1b5ec4f1a47f34c25ca988850b49da7904f5ab1b3abc5cc0ae66ef9");
}

TEST_CASE("SHA-256 reads bytes, not a C string") {
  CHECK(sha256_hex(std::string("a\0b", 3)) != sha256_hex("a"));
  CHECK(sha256_hex(std::string(1, '\0')) == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}
