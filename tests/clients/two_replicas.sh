#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests a pool with two remote replicas on two targets, whose commands RPMEM_CMD lists. It fails if
# one replica differs from the local pool, if either is not a usable pool by itself, or if sync or
# rm misses one of them.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
threads=4 steps=10

RPMEM_CMD="$(target_make 1)|$(target_make 2)"
export RPMEM_CMD
write_pool single
alone=$LOCAL/alone.set pool=$LOCAL/pool.set
# Requests reach the two commands in turn, so both targets must serve both pool sets.
first=$RPMEM_TEST_DIR/target1/sets/first.set second=$RPMEM_TEST_DIR/target1/sets/second.set
rm "$(target_set 1)"
write_set "$first" '' "32M:$RPMEM_TEST_DIR/target1/parts/part0"
write_set "$second" '' "20M:$RPMEM_TEST_DIR/target2/parts/part0" \
    "20M:$RPMEM_TEST_DIR/target2/parts/part1"
cp "$first" "$second" "$RPMEM_TEST_DIR/target2/sets"
{
    cat "$alone"
    echo "REPLICA $RPMEM_TEST_TARGET first.set"
    echo "REPLICA $RPMEM_TEST_TARGET second.set"
} >"$pool"

verify() {
    must workload verify "$pool" --threads $threads --steps $steps --extents "$LOCAL/extents"
    expect_same_objects "$pool" "$first" "$LOCAL/extents"
    expect_same_objects "$pool" "$second" "$LOCAL/extents"
}

step "create"
must client pmempool create obj --layout=rpmem_workload "$pool"
expect_log 1 'persistency policy:'
expect_log 2 'persistency policy:'
expect_same_bytes "$pool" "$first"
expect_same_bytes "$pool" "$second"

step "transactions"
must workload run "$pool" --threads $threads --steps $steps
verify
expect_usable $threads $steps "$first" "$second" "$pool"
expect_usable $threads $steps "$second" "$pool" "$first"

step "one of them is lost, and the local one"
rm $(parts_of "$pool") $(parts_of "$first")
must client pmempool sync "$pool"
expect_same_bytes "$pool" "$second"
expect_same_bytes "$pool" "$first"
verify

step "removed"
must client pmempool rm "$pool"
expect_no_parts "$pool"
expect_no_parts "$first"
expect_no_parts "$second"
