#compdef ffn-train
# ffn-train completion for zsh. Load it with: source <(ffn-train completion zsh)
_ffn_train() {
  local line word current=${${(Q)words[CURRENT]}#[\"\']}
  local -a whole going_on
  for line in "${(@f)$(FFN_TRAIN_COMPLETE=zsh "${(Q)words[1]}" "${(@Q)words[2,CURRENT-1]}" "$current" 2> /dev/null)}"; do
    [[ -z $line ]] && continue
    word=${line%%$'\t'*}
    word=${word//\\/\\\\}
    word=${word//:/\\:}
    [[ $line == *$'\t'* ]] && word+=":${line#*$'\t'}"
    if [[ ${line%%$'\t'*} == *[/.=,] ]]; then going_on+=("$word"); else whole+=("$word"); fi
  done
  (( $#whole )) && _describe -V -t words 'ffn-train' whole
  (( $#going_on )) && _describe -V -t beginnings 'ffn-train' going_on -S ''
}
if [[ ${funcstack[1]} == _ffn-train ]]; then _ffn_train "$@"; else compdef _ffn_train ffn-train; fi
