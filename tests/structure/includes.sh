#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# includes.sh SOURCE_DIR
#
# Tests that headers of the project are included by their path from the root of the sources, so that
# a reader sees which half they belong to. A source must include its own header first, so that the
# compiler detects an include that the header lacks. It fails for each other #include "...".
set -u
cd "$1" || exit 1
status=0 seen=0
while IFS= read -r line; do
    file=${line%%:*} name=${line#*\"}
    name=${name%%\"*}
    seen=$((seen + 1))
    case $name in
    common/* | librpmem/* | rpmemd/* | tools/* | tests/*) [[ $name == */../* || ! -f $name ]] || continue ;;
    esac
    echo "$file: \"$name\" is not the name of a header from the root" >&2
    status=1
done < <(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' --include='*.?pp' \
    common examples include librpmem rpmemd tests tools)
[ "$seen" -gt 500 ] || { echo "nothing was searched" >&2; exit 1; }

while IFS= read -r source; do
    own=${source%.cpp}.hpp
    [ ! -f "$own" ] || [ "$(grep -m 1 '^#include' "$source")" = "#include \"$own\"" ] || {
        echo "$source: $own is not its first header" >&2
        status=1
    }
done < <(find common librpmem rpmemd tests tools -name '*.cpp')
[ $status = 0 ] && echo "every header is named from the root"
exit $status
