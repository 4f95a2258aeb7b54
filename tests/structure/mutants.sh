#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mutants.sh SOURCE_DIR: each mutant of tests/mutation can be planted in the sources as they are.
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
