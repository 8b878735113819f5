# ffn-train completion for fish. Load it with: ffn-train completion fish | source
function __ffn_train_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # As the shell will read it, also where a quote is still open.
    set -l plain (string unescape -- "$current"; or string unescape -- "$current'"; or string unescape -- "$current\"")
    env FFN_TRAIN_COMPLETE=fish $words "$plain" 2> /dev/null
end
complete -c ffn-train -f -a '(__ffn_train_complete)'
