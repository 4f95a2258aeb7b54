#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# messages_in_readme.sh SOURCES: every message that README.md explains is one that the library or
# the daemon can really give: each of its pieces stands in the sources.
set -eu

cd "$1"
# Literals that are continued on the next line are joined.
sources=$(find common librpmem rpmemd -name '*.[ch]pp' -print0 | sort -z | xargs -0 cat |
    sed -z 's/"[ \n]*"//g; s/\\"/"/g')
failed=0
messages=0

# max_beginning TEXT: as many of its first words as stand in the sources together.
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

# piece MESSAGE TEXT: a text may be put together from several literals, none of them tiny.
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
        # What is left between two gaps may be too short to mean anything.
        [ ${#text} -lt 8 ] || piece "$message" "$text"
        # Numbers come from a format.
    done < <(sed -E 's/…/\n/g; s/ (255|127)( |$)/ \n /g' <<<"$message" | sed -E 's/^ +//; s/ +$//')
done < <(sed -n '/^## Troubleshooting/,/^## Security/p' README.md | grep '^| `' | cut -d'`' -f2)

[ "$messages" -ge 15 ] || {
    echo "only $messages messages found in README.md" >&2
    exit 1
}
exit $failed
