#!/bin/bash
# settings_in_manual.sh SOURCES: librpmem(7) tells every setting of the table, with its default and
# its bounds, and no other; README.md names each.
set -eu

table=$1/common/base/settings.cpp
# Words that were divided at the end of a line are joined again.
page=$(LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$1/man/librpmem.7" | col -bx |
    sed -n '/^ENVIRONMENT/,/^NOTES/p' | sed -z 's/‐\n *//g')
failed=0
fault() {
    printf '%s\n' "$*" >&2
    failed=1
}

# told NAME: the paragraph of one setting.
told() {
    printf '%s\n' "$page" | awk -v name="$1" '
        /^       [A-Z]/ { inside = ($1 == name) }
        /^       [^ A-Z]/ { inside = 0 }
        inside' | tr -s ' \n' ' '
}

rows=0
names=
while IFS='|' read -r name kind default minimum maximum; do
    rows=$((rows + 1))
    names="$names $name"
    text=$(told "$name")
    [ -n "$text" ] || { fault "$name is not in librpmem(7)"; continue; }
    [ -z "$default" ] || grep -qE "Default: $default\." <<<"$text" ||
        fault "$name: librpmem(7) does not say that the default is $default"
    if [ "$kind" = number ] && [ "$maximum" != UINT_MAX ] && [ "$maximum" -gt 9 ]; then
        grep -q "from $minimum to $maximum" <<<"$text" ||
            fault "$name: librpmem(7) does not say: from $minimum to $maximum"
    fi
    grep -q "$name" "$1/README.md" || fault "$name is not in README.md"
done < <(tr '\n' ' ' <"$table" |
    grep -oE 'SettingRow\{"[A-Z_]+", *[a-z]+, *"[^"]*", *[0-9A-Z_]+, *[0-9A-Z_]+' |
    sed -E 's/SettingRow\{"([A-Z_]+)", *([a-z]+), *"([^"]*)", *([0-9A-Z_]+), *([0-9A-Z_]+)/\1|\2|\3|\4|\5/')
[ "$rows" -ge 11 ] || fault "only $rows settings found in $table"

while read -r name; do
    [[ " $names " == *" $name "* ]] || fault "librpmem(7) tells of $name, which is no setting"
done < <(printf '%s\n' "$page" | sed -nE 's/^ {7}(RPMEM_[A-Z_]+).*/\1/p')
exit $failed
