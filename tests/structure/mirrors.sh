#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mirrors.sh SOURCE_DIR: tests/unit has the folders of the sources, and X_test.cpp or X_WHAT_test.cpp
# tests X there. tests/unit/lanes is for both ends of a lane together.
cd "$1" || exit 1
faults=0
while IFS= read -r test; do
    place=${test#tests/unit/}
    name=$(basename "$place" _test.cpp)
    [ "${place%%/*}" != lanes ] || continue
    while [ -n "$name" ] && ! compgen -G "${place%/*}/$name.[ch]pp" >/dev/null; do
        case $name in *_*) name=${name%_*} ;; *) name= ;; esac
    done
    [ -n "$name" ] || { printf '%s: no source of that name in %s\n' "$test" "${place%/*}"; faults=1; }
done < <(find tests/unit -name '*_test.cpp')
[ $faults = 0 ] && echo "tests/unit mirrors the sources"
exit $faults
