#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clang_tidy.sh SOURCES [CHECKS]
#
# Tests that clang-tidy-14 has no finding in the product and the tools. The code of the tests is not
# checked. CHECKS are added to those of .clang-tidy. Several sources are one unit, so that
# clang-tidy reads their common headers once.
set -eu -o pipefail
command -v run-clang-tidy-14 >/dev/null || {
    echo "skipped: run-clang-tidy-14 is not installed"
    exit 77
}
cd "$1"
build=$PWD/build/tidy # below the sources, so that clang-tidy finds .clang-tidy
trap 'rm -rf "$build"' EXIT
cmake --preset clang -B "$build" -DRPMEM_BUILD_TESTS=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 >/dev/null
status=0
run-clang-tidy-14 -quiet ${2:+"-checks=$2"} -j "${RPMEM_JOBS:-$(nproc)}" -p "$build" \
    "^$build/(common|librpmem|rpmemd|tools)/.*" >"$build/output" 2>&1 || status=$?
grep -vE '^([0-9]+ warnings? |clang-tidy-14 |Suppressed |Use -header)' "$build/output" || true
exit "$status"
