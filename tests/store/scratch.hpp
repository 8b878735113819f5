// Helpers that tests of files share with those of base/, and files read and written whole.
#pragma once

#include "base/helpers.hpp"

using ffn::test::ScratchDirectory;

inline std::string content(const std::filesystem::path& path) { return ffn::test::content_of(path.string()); }

inline void put(const std::filesystem::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// The message that the call threw, as E; "" if it threw nothing. Another type passes through and fails the test.
template <class E, class Call>
std::string message_of(Call call) {
  const auto error = ffn::test::thrown<E>(call);
  return error ? error->what() : "";
}
