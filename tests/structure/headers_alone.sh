#!/bin/bash
# headers_alone.sh SOURCE_DIR CXX CC: every header compiles as the only content of a file. They go
# to the compiler in one file a layer, each layer twice, in both orders: what a header forgot to
# include is missing in one of them.
set -u
cd "$1" || exit 1
status=0
check() {
    local reverse=$1
    shift
    printf '%s\n' "$@" | if [ "$reverse" = yes ]; then tac; else cat; fi |
        sed 's|.*|#include "&"|' |
        "$cxx" -std=c++20 -fsyntax-only -Wall -Wextra -I. -Iinclude -x c++ - || status=1
}
cxx=$2
cc=$3
shopt -s globstar
for reverse in no yes; do
    check $reverse common/**/*.hpp
    check $reverse librpmem/**/*.hpp
    check $reverse rpmemd/**/*.hpp
    check $reverse tools/bench/*.hpp
    check $reverse tools/ctl/*.hpp
done
# The public header is C, and C++.
for standard in c99 c11; do
    echo '#include "librpmem.h"' | "$cc" -std=$standard -fsyntax-only -Wall -Wextra -Wpedantic -Iinclude -x c - || status=1
done
[ $status = 0 ] && echo "every header stands alone"
exit $status
