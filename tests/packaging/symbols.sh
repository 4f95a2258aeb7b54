#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh NM LIBRARY: exactly the twelve functions, in version LIBRPMEM_1.0, and nothing else.
set -eu

nm=$1
library=$2

expected=$(printf 'T rpmem_%s@@LIBRPMEM_1.0\n' check_version close create deep_persist drain \
    errormsg flush open persist read remove set_attr && echo 'A LIBRPMEM_1.0@@LIBRPMEM_1.0')
found=$("$nm" -D --defined-only "$library" | cut -d' ' -f2-)
# Some linkers write the node's own symbol with a version, some without.
found=${found/"A LIBRPMEM_1.0"$'\n'/"A LIBRPMEM_1.0@@LIBRPMEM_1.0"$'\n'}
if ! diff -u <(sort <<<"$expected") <(sort <<<"$found"); then
    echo "$library exports something else than the twelve functions (+ is what it has)" >&2
    exit 1
fi

soname=$(basename "$(readlink -f "$library")")
"${nm%nm}objdump" -p "$library" | grep -qE '^ *SONAME +librpmem\.so\.1$' || {
    echo "the SONAME of $soname is not librpmem.so.1" >&2
    exit 1
}
