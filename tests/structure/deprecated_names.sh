#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# deprecated_names.sh SOURCE_DIR
#
# Tests that the code uses no name that libfabric 2.x deprecates or has removed, so that it compiles
# against both versions. See fabric(7), "Deprecated" sections. It searches the sources, and fails if
# one of the names below appears.
cd "$1" || exit 1
names='FI_MR_BASIC|FI_MR_SCALABLE|FI_MR_UNSPEC|FI_LOCAL_MR|FI_ORDER_STRICT|FI_ORDER_NONE'
names="$names|enum fi_mr_mode|FI_WAIT_SET|fi_wait_open|fi_poll_open|fid_wait|fid_poll"
names="$names|comp_order|total_buffered_recv"
if found=$(grep -rnwE --include='*.?pp' --include='*.[ch]' "$names" common librpmem rpmemd tools include); then
    printf 'names that libfabric 2.x deprecates:\n%s\n' "$found"
    exit 1
fi
grep -rqE --include='*.?pp' 'fi_getinfo' common || { echo "nothing was searched"; exit 1; }
echo "no deprecated names"
