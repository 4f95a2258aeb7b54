#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh NM LIBRARY
#
# Tests that the library exports exactly the twelve functions of 1.12.1 with version LIBRPMEM_1.0,
# and its own functions with versions LIBRPMEM_1.1 and LIBRPMEM_1.2. It fails if another symbol
# becomes visible, or if one is missing or has another version.
set -eu

nm=$1
library=$2

expected=$(printf 'T rpmem_%s@@LIBRPMEM_1.0\n' check_version close create deep_persist drain \
    errormsg flush open persist read remove set_attr &&
    printf '%s\n' 'T rpmem_stats@@LIBRPMEM_1.1' 'T rpmem_replica_state@@LIBRPMEM_1.2' \
        'T rpmem_wait_in_sync@@LIBRPMEM_1.2' 'A LIBRPMEM_1.0@@LIBRPMEM_1.0' \
        'A LIBRPMEM_1.1@@LIBRPMEM_1.1' 'A LIBRPMEM_1.2@@LIBRPMEM_1.2')
found=$("$nm" -D --defined-only "$library" | cut -d' ' -f2-)
# Some linkers give the symbol of a version node itself a version, others do not.
found=$(sed -E 's/^A (LIBRPMEM_1\.[012])$/A \1@@\1/' <<<"$found")
if ! diff -u <(sort <<<"$expected") <(sort <<<"$found"); then
    echo "$library exports something else than those functions (+ is what it has)" >&2
    exit 1
fi

soname=$(basename "$(readlink -f "$library")")
"${nm%nm}objdump" -p "$library" | grep -qE '^ *SONAME +librpmem\.so\.1$' || {
    echo "the SONAME of $soname is not librpmem.so.1" >&2
    exit 1
}
