#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# settings_in_manual.sh RPMEMCTL SOURCES
#
# Tests that librpmem(7) describes exactly the settings of the library, with defaults and bounds,
# and that README.md names each. The settings are the output of `rpmemctl settings` without an
# environment. It fails if a setting is added, renamed or changed without the texts.
set -eu

sources=$2
# Join words that are divided at the end of a line.
page=$(LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$sources/man/librpmem.7" | col -bx |
    sed -n '/^ENVIRONMENT/,/^NOTES/p' | sed -z 's/‐\n *//g')
failed=0
fault() {
    printf '%s\n' "$*" >&2
    failed=1
}

# told NAME: prints the paragraph of one setting.
told() {
    printf '%s\n' "$page" | awk -v name="$1" '
        /^       [A-Z]/ { inside = ($1 == name) }
        /^       [^ A-Z]/ { inside = 0 }
        inside' | tr -s ' \n' ' '
}

rows=0
names=
while IFS='|' read -r name default bounds; do
    rows=$((rows + 1))
    names="$names $name"
    text=$(told "$name")
    [ -n "$text" ] || { fault "$name is not in librpmem(7)"; continue; }
    [ -z "$default" ] || grep -qE "Default: $default\." <<<"$text" ||
        fault "$name: librpmem(7) does not say that the default is $default"
    # UINT_MAX means that there is no bound.
    if [[ -n $bounds && $bounds != *' to 4294967295' ]]; then
        grep -q "from $bounds" <<<"$text" || fault "$name: librpmem(7) does not say: from $bounds"
    fi
    grep -q "\`$name\`" "$sources/README.md" || fault "$name is not in README.md"
done < <(env -i "$1" settings | sed -nE '
    /^RPMEM_/ {
        N
        s/^(RPMEM_[A-Z_]+)=(.*)   \(default\)\n.*; ([0-9]+ to [0-9]+)[^;]*$/\1|\2|\3/
        s/^(RPMEM_[A-Z_]+)=(.*)   \(default\)\n.*/\1|\2|/
        p
    }')
[ "$rows" -ge 20 ] || fault "rpmemctl settings prints only $rows settings"

while read -r name; do
    [[ " $names " == *" $name "* ]] || fault "librpmem(7) tells of $name, which is no setting"
done < <(printf '%s\n' "$page" | sed -nE 's/^ {7}(RPMEM_[A-Z_]+).*/\1/p')
exit $failed
