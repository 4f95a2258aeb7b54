#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# links.sh DIRECTORY TEXT...
#
# Tests the relative links of these Markdown texts: each must lead to a file in DIRECTORY, and a
# link to a heading must lead to an existing one. It fails if a file or a heading is renamed without
# the link, or if it finds fewer than ten links.
set -eu

root=$(readlink -f "$1")
failed=0 links=0
fault() {
    printf '%s\n' "$*" >&2
    failed=1
}

# anchors FILE: prints the names of its headings in links.
anchors() {
    sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | tr ' ' '-' | tr -cd 'a-z0-9_\n-'
}

# follow TEXT LINK: checks a link.
follow() {
    local path=${2%%#*} anchor='' place
    [[ $2 != *'#'* ]] || anchor=${2#*#}
    place=$(readlink -m "$(dirname "$1")/$path")
    [ -n "$path" ] || place=$(readlink -f "$1")
    [ -e "$place" ] || { fault "$1: $2 leads nowhere" && return; }
    [[ $place == "$root"/* ]] || fault "$1: $2 leads out of $root"
    [ -z "$anchor" ] || anchors "$place" | grep -qx -- "$anchor" || fault "$1: $2: no such heading"
}

for text in "${@:2}"; do
    while IFS= read -r link; do
        links=$((links + 1))
        follow "$text" "$link"
    done < <(grep -oE '\]\([^) ]+\)' "$text" | sed -E 's/^..//; s/.$//' | grep -vE '^[a-z]+:' || true)
done
[ "$links" -ge 10 ] || fault "only $links links found in: ${*:2}"
exit $failed
