#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clang.sh SOURCES
#
# Tests that everything builds with clang without a warning, including the tests. Each source of the
# product is compiled by itself. Other builds compile several sources as one unit, which hides a
# missing include. It uses the clang of this release of Debian: 14 in Debian 12, 19 in Debian 13.
set -eu -o pipefail
for version in 14 19; do
    ! command -v "clang++-$version" >/dev/null || break
done
command -v "clang++-$version" >/dev/null || {
    echo "skipped: neither clang++-14 nor clang++-19 is installed"
    exit 77
}
build=$(mktemp -d "${TMPDIR:-/tmp}/rpmem-clang.XXXXXX")
trap 'rm -rf "$build"' EXIT
cd "$1"
cmake --preset clang -B "$build" -DRPMEM_WERROR=ON -DRPMEM_BUILD_TESTS=ON \
    -DCMAKE_C_COMPILER="clang-$version" -DCMAKE_CXX_COMPILER="clang++-$version" >/dev/null
cmake --build "$build" --parallel "${RPMEM_JOBS:-$(nproc)}" -- -k 0 --quiet
