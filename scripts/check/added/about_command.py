"""A subcommand."""
from parts import Part

PARTS = [
    Part("app/commands/about.cpp", text='''\
// ffn-train about: what this program is for.
#include <iostream>

#include "../commands.hpp"

namespace ffn::app {

void add_about(CommandLine program, CommonOptions&) {
  auto command = program.subcommand("about", "what this program is for");
  command.run([] {
    std::cout << "which feed-forward layer, and how sure\\n";
    return 0;
  });
}

}  // namespace ffn::app
'''),
    Part("app/commands.hpp", before="void add_plan(CommandLine program, CommonOptions& common);\n", forgotten=("app/commands.cpp", "add_about"),
         text="void add_about(CommandLine program, CommonOptions& common);\n"),
    Part("app/commands.cpp", before="  add_plan(program, common);\n", text="  add_about(program, common);\n",
         forgotten=("ffn-train: every", "app/commands")),
]
