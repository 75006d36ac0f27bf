_trunkline_completion() {
    local IFS=$'
'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" \
                   COMP_CWORD=$COMP_CWORD \
                   _TRUNKLINE_COMPLETE=complete_bash $1 ) )
    return 0
}

complete -o default -F _trunkline_completion trunkline

_tl_completion() {
    local IFS=$'
'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" \
                   COMP_CWORD=$COMP_CWORD \
                   _TL_COMPLETE=complete_bash $1 ) )
    return 0
}

complete -o default -F _tl_completion tl
