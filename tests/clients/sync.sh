#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# sync.sh GEOMETRY
#
# Tests that stock pmempool sync restores either side from the other through librpmem. It fails if
# the restored pool lacks data or differs from the other side, if the program cannot use it, or if
# sync succeeds when both sides are lost.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
threads=2 steps=12

remote_pool "$1"

verify() {
    must workload verify "$pool" --threads $threads --steps $steps --extents "$LOCAL/extents"
    expect_same_objects "$pool" "$target" "$LOCAL/extents"
}

step "create and fill ($1)"
must client pmempool create obj --layout=rpmem_workload "$pool"
must workload run "$pool" --threads $threads --steps $steps
verify

step "the local parts are gone"
rm $(parts_of "$pool")
must client pmempool sync --dry-run "$pool"
expect_no_parts "$pool"
must_fail workload verify "$pool" --threads $threads --steps $steps
must client pmempool sync "$pool"
expect_parts "$pool"
expect_same_bytes "$pool" "$target"
verify

step "the local parts are full of zeros"
for part in $(parts_of "$pool"); do
    size=$(stat -c %s "$part")
    rm "$part"
    truncate -s "$size" "$part"
done
must client pmempool sync "$pool"
expect_same_bytes "$pool" "$target"
verify

step "the target's parts are gone"
rm $(parts_of "$target")
must_fail workload verify "$pool" --threads $threads --steps $steps
must client pmempool sync "$pool"
expect_parts "$target"
expect_same_bytes "$pool" "$target"
verify

step "the program goes on"
must workload run "$pool" --threads $threads --steps 10
steps=$((steps + 10))
verify
expect_usable $threads $steps "$target" "$pool"

step "both are gone"
rm $(parts_of "$pool") $(parts_of "$target")
must_fail client pmempool sync "$pool"
