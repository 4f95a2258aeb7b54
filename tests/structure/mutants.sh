#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mutants.sh SOURCE_DIR: each mutant of tests/mutation changes the sources as they are, and only one
# file of them.
set -u
cd "$1" || exit 1
status=0 seen=0
for patch in tests/mutation/mutants/*.patch; do
    seen=$((seen + 1))
    git apply --check "$patch" || {
        echo "$patch does not apply: update it" >&2
        status=1
    }
    [ "$(grep -c '^+++ ' "$patch")" = 1 ] || {
        echo "$patch does not change exactly one file" >&2
        status=1
    }
done
[ "$seen" -gt 40 ] || { echo "nothing was searched" >&2; exit 1; }
[ $status = 0 ] && echo "$seen mutants apply"
exit $status
