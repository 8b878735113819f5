# ffn-train completion for bash. Load it with: source <(ffn-train completion bash)
# readline takes the word apart at = and :, and completes what stands behind the last of them, or behind a quote that is still open. It
# inserts candidates as they are, so that the name of a directory would become a command of the shell: what is no plain character is
# quoted here. compopt -o filenames would quote what keys and values have, too, and put a slash behind runs.

# The line's words as the shell will read them, without running anything; the quote that is still open; how much of the last word stays.
_ffn_train_words() {
  local line=${COMP_LINE:0:COMP_POINT} word= begun= outside=0 c i breaks=${COMP_WORDBREAKS//[^=:]/}
  words=() quote= kept=0
  for ((i = 0; i < ${#line}; ++i)); do
    c=${line:i:1}
    if [[ -n $quote && $c == "$quote" ]]; then
      quote= kept=$outside
    elif [[ $quote == "'" ]]; then
      word+=$c
    elif [[ $c == \\ ]]; then
      [[ -n $quote && ${line:i + 1:1} != [\\\"\$\`] ]] && word+=\\
      ((++i))
      word+=${line:i:1}
    elif [[ -n $quote ]]; then
      word+=$c
    elif [[ $c == [\"\'] ]]; then
      quote=$c begun=1 outside=$kept kept=${#word}
    elif [[ $c == [[:space:]] ]]; then
      [[ -n $word$begun ]] && words+=("$word")
      word= begun= kept=0
    else
      word+=$c
      [[ -n $breaks && $c == [$breaks] ]] && kept=${#word}
    fi
  done
  words+=("$word")
}

# A candidate as it has to stand in the line: between the quotes that are open, or with a backslash before what means something.
_ffn_train_quoted() {
  local c i plain='[[:alnum:]_./=,:@%+-]'
  quoted=
  for ((i = 0; i < ${#1}; ++i)); do
    c=${1:i:1}
    if [[ $quote == "'" ]]; then
      [[ $c == "'" ]] && quoted+="'\\'"
    elif [[ $quote == '"' ]]; then
      [[ $c == '!' ]] && return 1 # it would be history, and no backslash helps
      [[ $c == [\\\"\$\`] ]] && quoted+=\\
    elif [[ $c != $plain && ! ($c == "~" && $i == 0 && ${words[${#words[@]} - 1]} == "~"*) ]]; then
      quoted+=\\
    fi
    quoted+=$c
  done
}

_ffn_train() {
  local -a words
  local candidate quote kept quoted
  _ffn_train_words
  COMPREPLY=()
  while IFS= read -r candidate; do
    candidate=${candidate%%$'\t'*}
    _ffn_train_quoted "${candidate:kept}" || continue
    [[ $candidate == *[/.=,] ]] && compopt -o nospace 2> /dev/null
    COMPREPLY+=("$quoted")
  done < <(FFN_TRAIN_COMPLETE=bash "${words[0]}" "${words[@]:1}" 2> /dev/null)
}
complete -F _ffn_train ffn-train
