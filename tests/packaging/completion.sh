#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# completion.sh RPMEMD RPMEMCTL SOURCES
#
# Tests the completions of bash and zsh in completion/ with the real shells. It fails if a shell
# does not offer an option, a subcommand or a value that --help of the programs lists.
set -u

sources=$3
PATH=${1%/*}:${2%/*}:$PATH
for shell in bash zsh; do
    command -v "$shell" >/dev/null || { echo "there is no $shell (apt-get install $shell)"; exit 77; }
done
bash_completion=/usr/share/bash-completion/bash_completion
[ -e "$bash_completion" ] || { echo "there is no bash-completion (apt-get install bash-completion)"; exit 77; }
failed=0

# offers_bash LINE: prints the completions at the end of LINE.
offers_bash() {
    local COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS COMP_CWORD COMPREPLY=()
    IFS=' ' read -ra COMP_WORDS <<<"${1//=/ = }"
    [[ $1 != *' ' ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "_${COMP_WORDS[0]}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf '%s\n' "${COMPREPLY[@]}"
}

offers_zsh() {
    "$sources/tests/packaging/completion.zsh" "$sources/completion/zsh" "$1"
}

# offered LINE WORD...: expects both shells to offer each WORD.
offered() {
    local shell line=$1 offers word
    shift
    for shell in bash zsh; do
        offers=$("offers_$shell" "$line" | tr -s '[:space:]' '\n')
        for word; do
            grep -qxF -- "$word" <<<"$offers" || {
                printf "%s does not offer '%s' after '%s', but: %s\n" "$shell" "$word" "$line" "${offers//$'\n'/ }"
                failed=1
            }
        done
    done
}

# shellcheck disable=SC1090,SC1091
{
    . "$bash_completion"
    . "$sources/completion/bash/rpmemd"
    . "$sources/completion/bash/rpmemctl"
}
COMP_WORDBREAKS='=: '
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/pools" "$directory/.ssh"
# bash-completion offers hosts of this file. completion.zsh passes the same host to zsh.
printf 'Host alpha\n' >"$directory/.ssh/config"
HOME=$directory
echo >"$directory/pools.conf"
cd "$directory" || exit 1

mapfile -t options < <(rpmemd --help | sed -nE 's/^ {2,4}(-[A-Za-z], )?(--[a-z-]+).*/\2/p')
[ "${#options[@]}" -ge 30 ] || { echo "rpmemd --help has only: ${options[*]}"; exit 1; }
offered "rpmemd --" "${options[@]}"
offered "rpmemd --log-level " err warn notice info debug
offered "rpmemd --log-level=" err warn notice info debug
offered "rpmemd --tls=" off on require
offered "rpmemd --probe --conf" --config --confine
offered "rpmemd --config=po" pools.conf
mapfile -t subcommands < <(rpmemctl --help | sed -nE 's/^ {2}([a-z]+) .*/\1/p')
[ "${#subcommands[@]}" -ge 16 ] || { echo "rpmemctl --help has only: ${subcommands[*]}"; exit 1; }
offered "rpmemctl " "${subcommands[@]}"
# Each subcommand must be completed with the options and the first argument in its help.
for subcommand in "${subcommands[@]}"; do
    help=$(rpmemctl "$subcommand" --help)
    mapfile -t options < <(sed -nE 's/^ {2,4}(-[A-Za-z], )?(--[a-z-]+).*/\2/p' <<<"$help")
    [ "${#options[@]}" -ge 2 ] || { echo "rpmemctl $subcommand --help has only: ${options[*]}"; failed=1; }
    offered "rpmemctl $subcommand --" "${options[@]}"
    case $(sed -nE '/^Arguments:/{n;s/^ {2}([A-Z]\S*) .*/\1/p}' <<<"$help") in
    FILE | 'PID|FILE') offered "rpmemctl $subcommand po" pools.conf ;;
    TARGET) offered "rpmemctl $subcommand " alpha ;;
    PID:POOL) ;; # ctl.steer has running programs
    "") ;;
    *) echo "the first argument of rpmemctl $subcommand is not known to this test"; failed=1 ;;
    esac
done
offered "rpmemctl -" --help --version
exit $failed
