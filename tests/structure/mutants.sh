#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mutants.sh SOURCE_DIR
#
# Tests that each mutant of tests/mutation can be planted in the present sources. It fails if a
# change of the product has removed or moved the lines of a mutant, so that the mutation run would
# skip it.
set -u
cd "$1" || exit 1
status=0 seen=0
for mutant in tests/mutation/mutants/*; do
    seen=$((seen + 1))
    tests/mutation/plant . "${mutant##*/}" --check || status=1
done
[ "$seen" -gt 20 ] || { echo "nothing was searched" >&2; exit 1; }
[ $status = 0 ] && echo "$seen mutants can be planted"
exit $status
