// Damaged files for the readers of every format. What a trial does follows from its number alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "ffn/base/error.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/random.hpp"
#include "support/catch_plain.hpp"

namespace ffn::fuzz {

/// How many trials a harness makes: the environment's FFN_FUZZ, or as many as take a moment.
inline std::uint64_t trials(std::uint64_t usual) {
  const char* asked = std::getenv("FFN_FUZZ");
  return asked ? std::strtoull(asked, nullptr, 10) : usual;
}

inline std::size_t index(RandomStream& random, std::size_t n) { return random.below(static_cast<std::uint32_t>(n)); }

/// One to `most` damages: flipped bits, any bytes, likely bytes, holes, repetitions, zeros, an early end.
inline std::string damaged(std::string text, RandomStream& random, std::size_t most = 3) {
  static const std::string likely = "{}[]:,\"0123456789.eE+-/*\\ntrufals \n";
  for (std::size_t damages = 1 + index(random, most); damages > 0 && !text.empty(); --damages) {
    const auto at = index(random, text.size());
    switch (index(random, 7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << index(random, 8)));
        break;
      case 1:
        text[at] = static_cast<char>(random.bits());
        break;
      case 2:
        text[at] = likely[index(random, likely.size())];
        break;
      case 3:
        text.erase(at, 1 + index(random, 20));
        break;
      case 4:
        text.insert(at, text.substr(index(random, text.size()), index(random, 40)));
        break;
      case 5:
        text.replace(at, 16, std::min<std::size_t>(16, text.size() - at), '\0');
        break;
      default:
        text.resize(at);
        text += " ";
        break;
    }
  }
  return text;
}

/// Values that a reader may not expect where it finds them.
inline const std::vector<std::string>& odd_values() {
  static const std::vector<std::string> values = {"null",
                                                  "true",
                                                  "0",
                                                  "-1",
                                                  "1",
                                                  "3.7",
                                                  "-0.0",
                                                  "1e308",
                                                  "-1e308",
                                                  "5e-324",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "-9223372036854775808",
                                                  "18446744073709551615",
                                                  "\"\"",
                                                  "\"x\"",
                                                  "\"none\"",
                                                  "\"\\u0000\"",
                                                  "[]",
                                                  "[[]]",
                                                  "{}",
                                                  "{\"kind\": 0}",
                                                  "{\"kind\": \"none\"}",
                                                  "{\"\": {}}"};
  return values;
}

/// With one value, at any depth, replaced by an odd one or left out.
inline Json with_odd_value(Json json, RandomStream& random) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && index(random, 4) != 0) {
    auto inside = at->begin();
    std::advance(inside, static_cast<std::ptrdiff_t>(index(random, at->size())));
    if (index(random, 12) == 0) {
      at->erase(inside);
      return json;
    }
    at = &*inside;
  }
  *at = Json::parse(odd_values()[index(random, odd_values().size())]);
  return json;
}

struct Tally {
  std::uint64_t read = 0, refused = 0;
};

/// `read` of every trial's bytes: an Error of ours, or nothing. Anything else fails the test with the trial's number.
template <class Make, class Read>
Tally attempt(std::uint64_t usual, std::uint64_t key, Make make, Read read) {
  Tally tally;
  for (std::uint64_t trial = 0; trial < trials(usual); ++trial) {
    RandomStream random(key, trial);
    const std::string bytes = make(random);
    try {
      read(bytes);
      ++tally.read;
    } catch (const Error&) {
      ++tally.refused;
    } catch (const std::exception& error) {
      FAIL("trial " << trial << " of key " << key << ": " << error.what() << "\n" << bytes.substr(0, 2000));
    }
  }
  CHECK(tally.read + tally.refused == trials(usual));
  return tally;
}

}  // namespace ffn::fuzz
