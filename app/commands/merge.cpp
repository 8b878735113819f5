// ffn-train merge A B... -o C: one directory of a study whose parts were trained on several machines.
#include "ffn/study/merge.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../next_command.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {

void add_merge(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("merge", "unite the directories of a study that several machines trained");
  auto directories = std::make_shared<std::vector<std::string>>();
  auto out = std::make_shared<std::string>();
  command.option("directories", *directories, "directories of the study; they are read, never changed").required().type("DIR...");
  command.option("-o,--out", *out, "where the whole goes: a new directory, or one of the same study").required().type("DIR").directory();
  add_output_options(command, common);
  command.run([&common, directories, out] {
    to_named_directories(*directories);
    const auto result = merge_studies({directories->begin(), directories->end()}, *out);
    for (const auto& note : result.notes) log_warning(note);
    if (common.json) {
      print_json({{"directory", *out},
                  {"planned", result.planned},
                  {"finished", result.finished},
                  {"copied", result.copied},
                  {"notes", result.notes}});
      return 0;
    }
    print_text(*out + ": " + format_count(result.finished) + " of " + format_count(result.planned) + " runs finished, " +
               format_count(result.copied) + " copied now");
    log_info(sentence_and_command("next:", "ffn-train compare " + shell_word(*out), STDERR_FILENO));
    return 0;
  });
}

}  // namespace ffn::app
