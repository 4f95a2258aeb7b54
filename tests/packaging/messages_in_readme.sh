#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# messages_in_readme.sh SOURCES
#
# Tests that README.md explains only messages that the library or the daemon can print. Each piece
# of a message must be in a literal of the sources. It fails if an error text changes without
# README.md.
set -eu

cd "$1"
# Join literals that are continued on the next line.
sources=$(find common librpmem rpmemd -name '*.[ch]pp' -print0 | sort -z | xargs -0 cat |
    sed -z 's/"[ \n]*"//g; s/\\"/"/g')
failed=0
messages=0

# max_beginning TEXT: prints the longest beginning, in whole words, that is in the sources.
max_beginning() {
    local text=$1
    while [ ${#text} -ge 8 ]; do
        if grep -qF -- "$text" <<<"$sources"; then
            printf '%s' "$text"
            return
        fi
        [[ $text == *' '* ]] || return 0
        text=${text% *}
    done
}

# piece MESSAGE TEXT: expects TEXT in the sources. It may consist of several literals of 8
# characters or more.
piece() {
    local rest=$2 found
    while [ -n "$rest" ]; do
        found=$(max_beginning "$rest")
        if [ -z "$found" ]; then
            printf 'README.md: "%s": no source has "%s"\n' "$1" "$rest" >&2
            failed=1
            return
        fi
        rest=${rest#"$found"}
        rest=${rest# }
    done
}

while IFS= read -r message; do
    messages=$((messages + 1))
    while IFS= read -r text; do
        # A text between two gaps may be too short to be significant.
        [ ${#text} -lt 8 ] || piece "$message" "$text"
        # Numbers in a message come from a format, so they are gaps, too.
    done < <(sed -E 's/…/\n/g; s/ (255|127)( |$)/ \n /g' <<<"$message" | sed -E 's/^ +//; s/ +$//')
done < <(sed -n '/^## Troubleshooting/,/^## Security/p' README.md | grep '^| `' | cut -d'`' -f2)

[ "$messages" -ge 15 ] || {
    echo "only $messages messages found in README.md" >&2
    exit 1
}
exit $failed
