// Keys that configs got after runs had been trained and kept.
#pragma once

#include <string>
#include <vector>

#include "ffn/base/json.hpp"

namespace ffn {

/// A key of a section, and the value that a run which is older than the key had without saying so. Identities leave it out at that
/// value, so that such runs keep theirs; comparisons put it in.
struct YoungerKey {
  std::string section, key;
  JsonValue value;
  std::string beside = {}, beside_value = {};  ///< a key that the section has, and its value, where not all such sections got it

  std::string path() const { return section + "." + key; }
};

const std::vector<YoungerKey>& younger_keys();

/// Takes those at their old value out of a whole config.
void erase_younger_keys(Json& config);

}  // namespace ffn
