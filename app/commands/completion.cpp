// ffn-train completion SHELL: the script that makes a shell ask the program (app/completion.hpp) what may follow.
#include "../completion.hpp"

#include <iostream>

#include "../commands.hpp"

namespace ffn::app {

namespace {

// readline takes the word apart at = and :, and completes what stands behind the last of them.
constexpr const char* kBash = R"(# ffn-train completion for bash. Load it with: source <(ffn-train completion bash)
_ffn_train() {
  local line=${COMP_LINE:0:COMP_POINT} word breaks before=
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current=${words[${#words[@]} - 1]}
  breaks=${COMP_WORDBREAKS//[^=:]/}
  [[ -n $breaks && $current == *[$breaks]* ]] && before=${current%"${current##*[$breaks]}"}
  COMPREPLY=()
  while IFS= read -r word; do
    word=${word%%$'\t'*}
    [[ $word == *[/.=,] ]] && compopt -o nospace 2> /dev/null
    COMPREPLY+=("${word#"$before"}")
  done < <(FFN_TRAIN_COMPLETE=bash "${words[0]}" "${words[@]:1}" 2> /dev/null)
}
complete -F _ffn_train ffn-train
)";

constexpr const char* kZsh = R"(#compdef ffn-train
# ffn-train completion for zsh. Load it with: source <(ffn-train completion zsh)
_ffn_train() {
  local line word
  local -a whole going_on
  for line in "${(@f)$(FFN_TRAIN_COMPLETE=zsh "${words[1]}" "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    [[ -z $line ]] && continue
    word=${line%%$'\t'*}
    word=${word//:/\\:}
    [[ $line == *$'\t'* ]] && word+=":${line#*$'\t'}"
    if [[ ${line%%$'\t'*} == *[/.=,] ]]; then going_on+=("$word"); else whole+=("$word"); fi
  done
  (( $#whole )) && _describe -V -t words 'ffn-train' whole
  (( $#going_on )) && _describe -V -t beginnings 'ffn-train' going_on -S ''
}
if [[ ${funcstack[1]} == _ffn-train ]]; then _ffn_train "$@"; else compdef _ffn_train ffn-train; fi
)";

constexpr const char* kFish = R"(# ffn-train completion for fish. Load it with: ffn-train completion fish | source
function __ffn_train_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    env FFN_TRAIN_COMPLETE=fish $words "$current" 2> /dev/null
end
complete -c ffn-train -f -a '(__ffn_train_complete)'
)";

}  // namespace

void add_completion(CommandLine program, CommonOptions&) {
  auto command = program.subcommand("completion", "a script that makes a shell complete commands, keys, values, configs and runs");
  auto shell = std::make_shared<std::string>();
  command.option("shell", *shell, "which").required().type("").one_of({"bash", "zsh", "fish"});
  command.run([shell] {
    std::cout << (*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    return 0;
  });
}

}  // namespace ffn::app
