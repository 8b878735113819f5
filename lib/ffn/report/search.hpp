// The findings of a search (study/search.hpp, search.json), for people.
#pragma once

#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

/// Sentences: how layers were proposed, what was found, and what did not hold.
std::vector<std::string> search_sentences(const Json& search);

/// Each judged layer on each task, and at larger sizes.
Table search_verdicts(const Json& search);
/// Loss against cost, and which layers no other is better than in everything.
Table search_front(const Json& search);
/// From the layer that is best by its races' ranks back to the one that the search began with.
std::vector<std::string> family_of_best(const Json& search);

/// The same as one page, with charts and the commands that train each layer.
std::string search_page(const Json& search, const std::string& version, const std::string& written);

}  // namespace ffn
