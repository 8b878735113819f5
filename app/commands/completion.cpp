// ffn-train completion SHELL: the script that makes a shell ask the program (app/completion.hpp) what may follow.
#include "../completion.hpp"

#include <iostream>

#include "../commands.hpp"

namespace ffn::app {

void add_completion(CommandLine program, CommonOptions&) {
  auto command = program.subcommand("completion", "print a script that completes commands, keys, values, configs and runs");
  auto shell = std::make_shared<std::string>();
  command.option("shell", *shell, "which").required().type("").one_of({"bash", "zsh", "fish"});
  command.run([shell] {
    std::cout << completion_scripts().at("ffn-train." + *shell);
    return 0;
  });
}

}  // namespace ffn::app
