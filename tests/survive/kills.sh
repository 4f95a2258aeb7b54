#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kills.sh RPMEMCTL HELD_BACK THREADS POINTS
#
# Tests that no replica keeps lacking what a killed program has made durable in its own memory. Stock
# libpmemobj makes transactions and atomic operations with THREADS threads. SIGKILL ends it after it
# has persisted a range locally and before it persists it on the replica, at POINTS points that are
# spread evenly over the run. Each time the program starts again, writes, and closes the pool. Then
# all bytes that libpmemobj replicates must be the same on both sides. The target is taken over
# (rpmemctl take), and libpmemobj must find the same number of steps there, and their objects. It
# fails if the replica is not compared before the first write, or if a block that differs is not
# sent. The last step proves that: with RPMEM_EQUALIZE=no the same checks must fail.
#   HELD_BACK  the library of tests/clients/held_back.c
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/../clients/lib.sh"
# shellcheck source=tests/clients/held_back.sh
. "$(dirname "$0")/../clients/held_back.sh"

ctl=$1 held_back=$2 threads=$3 points=$4
steps=12 # of each thread in a run that is killed
out=$RPMEM_TEST_DIR/out
part=$LOCAL/part0 replica=$RPMEM_TEST_DIR/target1/parts/part0
taken=$RPMEM_TEST_DIR/target1/taken
common_env="RPMEM_LOG_LEVEL=2 RPMEM_LOG_FILE=$LOCAL/library.log ${RPMEM_CLIENT_ENV:-}"
RPMEM_CLIENT_ENV=$common_env

# log_calls: writes which ranges the program sends that is killed later, one per line.
log_calls() {
    RPMEM_CLIENT_PRELOAD="${RPMEM_CLIENT_PRELOAD:-} $held_back" RPMEM_HELD_BACK_LOG=$LOCAL/calls \
        must workload run "$pool" --threads "$threads" --steps $steps --extents "$LOCAL/extents" >"$out"
    wait_until_free
}

# calls_in_root: prints the numbers of the calls that send bytes of the root object, in random order.
calls_in_root() {
    local root size
    read -r root size <"$LOCAL/extents"
    awk -v first="$root" -v end=$((root + size)) '$1 >= first && $1 < end { print NR }' "$LOCAL/calls" |
        shuf
}

# restarted STEPS: starts the program again, which makes STEPS steps with each thread and closes the
# pool. Opening the pool writes, too.
restarted() {
    rm -f "$LOCAL/extents"
    must workload run "$pool" --threads "$threads" --steps "$1" --extents "$LOCAL/extents" \
        >"$LOCAL/count_here"
    wait_until_free
}

restarted_after_kill() {
    fresh
    killed_at "$1" "$threads" $steps
    restarted 0
}

# same_bytes: all bytes but the header page, and the addresses and locks of the process, which libpmemobj
# does not replicate (run_time in tools/compare/pmemobj_layout.cpp).
same_bytes() {
    cmp -i 4096 -n 2560 "$part" "$replica" && cmp -i 7232 "$part" "$replica"
}

# same_count: after a failover to a copy of the target, libpmemobj finds the steps that the program had.
same_count() {
    rm -f "$taken"
    cp --sparse=always "$replica" "$taken"
    client "$ctl" take "$RPMEM_TEST_TARGET" taken.set --yes </dev/null >"$out" 2>&1 ||
        fail "no take: $(cat "$out")"
    offline "$RPMEM_WORKLOAD" count "$RPMEM_TEST_DIR/target1/sets/taken.set" --threads "$threads" \
        >"$LOCAL/count_there" && cmp "$LOCAL/count_here" "$LOCAL/count_there"
}

# one_point CALL: succeeds if both sides are equal after the kill and the restart. After the first
# restart, which only opens and closes the pool, all bytes are. After steps, libpmemobj leaves stale
# words in free memory that it does not make durable.
one_point() {
    restarted_after_kill "$1"
    same_bytes && same_count || return 1
    restarted 1
    expect_same_objects "$pool" "$target" "$LOCAL/extents"
}

remote_pool single
write_set "$RPMEM_TEST_DIR/target1/sets/taken.set" '' "32M:$taken"
must client pmempool create obj --layout=rpmem_workload "$pool"
must workload run "$pool" --threads "$threads" --steps $steps >"$out"
wait_until_free
heap_offset "$pool" >/dev/null
keep_base
log_calls
mapfile -t root_calls < <(calls_in_root)
calls=$(wc -l <"$LOCAL/calls")
[ "$calls" -ge "$points" ] || fail "only $calls calls for $points points"

step "killed at $points points of $calls between the local and the remote persist"
for ((point = 0; point < points; point++)); do
    call=$((point * calls / points + 1))
    (one_point $call) >"$LOCAL/why" 2>&1 ||
        fail "after the kill at call $call both sides differ: $(cat "$LOCAL/why" "$LOCAL/library.log")"
done

# Most kills are repaired by libpmemobj itself, from its lanes. One in the root object may not be.
step "without the comparison both sides differ"
RPMEM_CLIENT_ENV="$common_env RPMEM_EQUALIZE=no"
differed=0
for call in "${root_calls[@]:0:60}"; do
    (restarted_after_kill "$call") >"$LOCAL/why" 2>&1 || fail "call $call: $(cat "$LOCAL/why")"
    (expect_same_objects "$pool" "$target" "$LOCAL/extents" && same_count) >"$LOCAL/why" 2>&1 && continue
    differed=$call
    break
done
[ "$differed" -gt 0 ] || fail "this test cannot fail: the replica is equal without being compared"
step "after the kill at call $differed: $(head -n 1 "$LOCAL/why")"
