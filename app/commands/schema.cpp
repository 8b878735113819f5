// ffn-train schema: the config as JSON Schema for editors.
#include "ffn/config/schema.hpp"

#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn::app {

void add_schema(CommandLine program, CommonOptions&) {
  program.subcommand("schema", "print the JSON Schema (draft-07) of a config").run([] {
    print_json(json_schema(describe_document));
    return 0;
  });
}

}  // namespace ffn::app
