// ffn-train import OLD -o NEW: results of version 0.1 and 0.2, in this version's form.
#include "ffn/study/import.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {

namespace {

int import(const std::string& old, const std::string& out, const CommonOptions& common) {
  const auto result = import_results(old, out);
  for (const auto& note : result.notes) log_warning(note);
  if (result.imported + result.already == 0)
    throw DataError("no run of " + old + " was imported",
                    result.notes.empty() ? "no finished run of version 0.1 or 0.2 is there" : "the warnings above say why");
  if (common.json) print_json({{"imported", result.imported}, {"already_there", result.already}, {"notes", result.notes}});
  else
    print_text(out + ": " + format_counted(result.imported, "run") + " imported" +
               (result.already > 0 ? ", " + format_count(result.already) + " there already" : "") +
               "; the commands that trained them find them with -o " + out +
               (result.lost_studies > 0 ? "; left out: " + format_count(result.lost_studies) + " of the studies (see above)" : ""));
  return static_cast<int>(result.lost_studies > 0 ? ExitCode::data : ExitCode::done);
}

}  // namespace

void add_import(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("import", "bring results of version 0.1 or 0.2 into this version's form");
  auto old = std::make_shared<std::string>();
  command.option("directory", *old, "where the earlier version's results are; it is read, never changed")
      .required()
      .type("OLD")
      .directory();
  command.option("-o,--out", common.out, "where results go").type("DIR").shows_default().directory();
  add_output_options(command, common);
  command.run([&common, old] { return import(*old, common.out, common); });
}

}  // namespace ffn::app
