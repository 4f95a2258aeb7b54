#!/usr/bin/env zsh
# SPDX-License-Identifier: BSD-3-Clause
# completion.zsh DIRECTORY LINE: what zsh lists when Tab is pressed behind LINE, with the completions of
# DIRECTORY. On a terminal of its own, as completion works on no other.
zmodload zsh/zpty
zpty shell "TERM=dumb COLUMNS=400 LINES=400 zsh -f -i"

# until_text TEXT: reads up to TEXT into $got, for 20 s at most.
until_text() {
    local chunk
    integer end=$((SECONDS + 20))
    got=
    while [[ $got != *$1* ]]; do
        ((SECONDS < end)) || { print -u2 -r -- "no '$1' in: $got"; exit 1; }
        zpty -r -t shell chunk && got+=$chunk || sleep 0.02
    done
}

zpty -w shell "PS1=; unsetopt zle_bracketed_paste; fpath=(${(q)1} \$fpath)
autoload -U compinit; compinit -D -u; LISTMAX=1000; zstyle ':completion:*' users; zstyle ':completion:*' hosts alpha beta
bindkey '^I' list-choices; tell() { print -r -- end'of'list; }; zle -N tell; bindkey '^X' tell; echo rea'dy'"
until_text ready
zpty -w -n shell "$2"$'\t\x18'
until_text endoflist
print -r -- "${got//$'\r'/}"
zpty -d shell
