#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# transform.sh GEOMETRY
#
# Tests that stock pmempool transform adds a remote replica to a pool and removes it again. It fails
# if the new replica differs from the pool, if parts are left on the target, or if a pool set file
# or data is lost.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
threads=2 steps=12

remote_pool "$1"
alone=$LOCAL/alone.set

step "a pool without remote replica ($1)"
must offline pmempool create obj --layout=rpmem_workload "$alone"
must offline "$RPMEM_WORKLOAD" run "$alone" --threads $threads --steps $steps

step "add a remote replica"
must client pmempool transform --dry-run "$alone" "$pool"
expect_no_parts "$target"
must client pmempool transform "$alone" "$pool"
expect_parts "$target"
expect_same_bytes "$pool" "$target"
must workload run "$pool" --threads $threads --steps 10
steps=$((steps + 10))
must workload verify "$pool" --threads $threads --steps $steps --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"
expect_usable $threads $steps "$target" "$pool"

step "remove it"
must client pmempool transform "$pool" "$alone"
expect_no_parts "$target"
[ -f "$target" ] || fail "the pool set file is gone from the target"
must offline pmempool check "$alone"
must offline "$RPMEM_WORKLOAD" verify "$alone" --threads $threads --steps $steps

step "and add it again"
must client pmempool transform "$alone" "$pool"
expect_same_bytes "$pool" "$target"
must workload verify "$pool" --threads $threads --steps $steps
