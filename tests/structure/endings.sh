#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# endings.sh SOURCE_DIR
#
# Tests the table of endings in docs/reliability.md: each row must name an existing test, and each
# test of the suites Endings* must have a row. It fails if a test is renamed or added without the
# table.
# shellcheck disable=SC2016 # the backquotes are those of the document
set -eu
cd "$1"
table=docs/reliability.md
faults=0
rows=0

fault() {
    echo "$1"
    faults=1
}

while read -r name; do
    rows=$((rows + 1))
    case $name in
    vm.*) grep -qE "^rpmem_add_vm_test\(${name#vm.} " tests/vm/CMakeLists.txt ;;
    survive.*) grep -qE "^rpmem_add_survive_test\(${name#survive.} " tests/survive/CMakeLists.txt ;;
    *) grep -qrF "TEST_F(${name%.*}, ${name#*.})" tests/integration ;;
    esac || fault "$table: there is no test $name"
done < <(sed -nE 's/^\|.*\| `([^`]+)` \|$/\1/p' "$table")
[ "$rows" -gt 0 ] || fault "$table: there is no row"
while read -r name; do
    grep -qF "\`$name\`" "$table" || fault "$table: there is no row for $name"
done < <(sed -nE 's/^TEST_F\((Endings[A-Za-z]*), ([A-Za-z]+)\).*/\1.\2/p' tests/integration/*.cpp)

[ $faults = 0 ] && echo "$rows endings have a test each"
exit $faults
