#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sizes.sh SOURCE_DIR: a file has one job; one that has outgrown 400 lines has several.
cd "$1" || exit 1
long=$(find common librpmem rpmemd tools tests include -name '*.?pp' -o -name '*.[ch]' | xargs wc -l |
    awk '$2 != "total" && $1 > 400')
[ -z "$long" ] || { printf 'files over 400 lines:\n%s\n' "$long"; exit 1; }
echo "no file is over 400 lines"
