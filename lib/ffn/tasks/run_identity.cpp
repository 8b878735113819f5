#include "ffn/tasks/run_identity.hpp"

#include <nlohmann/json.hpp>

#include "ffn/config/json_writer.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/tasks/corpus.hpp"

namespace ffn {

std::string run_identity(const RunConfig& config) {
  RunConfig same = config;
  if (FfnSize* size = size_of(same.model.ffn)) {  // d_ff 32 and expansion 4 of 8 are one layer
    size->d_ff = size->hidden_width(config.model.d_model);
    size->expansion.reset();
    size->match = "none";
    size->match_tolerance = 0;
  }
  Json json = write_json(same);
  json.erase("name");
  json.erase("compute");
  json["train"].erase("checkpoint_every");
  if (const auto* text = std::get_if<TextConfig>(&config.task)) json["task"]["file"] = file_identity(text->file);
  return sha256_hex(dump_json(json)).substr(0, 16);
}

}  // namespace ffn
