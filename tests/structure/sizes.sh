#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sizes.sh SOURCE_DIR
#
# Tests that no C or C++ file has more than 400 lines. A file should have one job, and a longer one
# usually has several.
cd "$1" || exit 1
long=$(find common librpmem rpmemd tools tests include -name '*.?pp' -o -name '*.[ch]' | xargs wc -l |
    awk '$2 != "total" && $1 > 400')
[ -z "$long" ] || { printf 'files over 400 lines:\n%s\n' "$long"; exit 1; }
echo "no file is over 400 lines"
