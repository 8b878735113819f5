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
    Part("app/commands.hpp", before="add_plan,", text="add_about, ", forgotten=("app/commands.cpp", "add_about")),
    Part("app/commands.cpp", before="add_plan,", text="add_about, ", forgotten=("ffn-train: every", "app/commands")),
]
