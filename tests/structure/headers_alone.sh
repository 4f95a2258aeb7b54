#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# headers_alone.sh SOURCE_DIR CXX CC
#
# Tests that each header compiles as the only content of a file, and the public headers in each
# language that they support. It fails if a header lacks an include, or if librpmem.h is not valid
# C99, C11 or C++.
set -u
cd "$1" || exit 1
status=0
export CXX=$2
cc=$3

mapfile -t headers < <(find common librpmem rpmemd tools -name '*.hpp' | sort)
[ "${#headers[@]}" -gt 0 ] || { echo "nothing was found" >&2; exit 1; }
# shellcheck disable=SC2016 # $CXX is for the inner shell
printf '%s\n' "${headers[@]}" | xargs -P 2 -n 1 sh -c 'echo "#include \"$1\"" |
    "$CXX" -std=c++20 -fsyntax-only -Wall -Wextra -I. -Iinclude -x c++ - || {
        echo "$1 does not stand alone" >&2
        exit 1
    }' sh || status=1
# The public header must be valid C and C++.
for standard in c99 c11; do
    echo '#include "librpmem.h"' | "$cc" -std=$standard -fsyntax-only -Wall -Wextra -Wpedantic -Iinclude -x c - || status=1
done
echo '#include "librpmem.h"' | "$CXX" -fsyntax-only -Wall -Wextra -Wpedantic -Iinclude -x c++ - || status=1
# The header for C++ must not require exceptions.
for option in -fexceptions -fno-exceptions; do
    echo '#include "librpmem.hpp"' | "$CXX" -std=c++20 $option -fsyntax-only -Wall -Wextra -Wpedantic -Iinclude -x c++ - || status=1
done
[ $status = 0 ] && echo "${#headers[@]} headers stand alone"
exit $status
