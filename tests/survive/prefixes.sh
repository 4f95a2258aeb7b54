#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# prefixes.sh METHOD CALLS STEPS FAULT_EVERY
#
# Tests that libpmemobj can recover from the replica after every range that the target made durable,
# also while sessions are lost. Two threads make STEPS steps each. Daemons die at random ranges, a
# third of them while ranges are replayed, and ssh and lanes are cut off at random moments. Then
# each state of the medium, after each range and within it, is opened with libpmemobj: see
# prefixes/check_prefixes.c. A replay that reorders or omits ranges makes a state that cannot be
# recovered, or that lacks a finished step.
#   METHOD       msync or pmem: how the target makes data durable
#   CALLS        persists: the calls of libpmemobj 1.12.1; flushes: see prefixes/flush_client.c
#   FAULT_EVERY  average number of ranges that a daemon makes durable before it dies
#   RPMEM_CHECK_PREFIXES, RPMEM_LOG_MEDIUM, RPMEM_FLUSH_CLIENT  paths of built programs
#   RPMEM_TEST_SEED  decides where daemons die; default: random
# Run it below tests/support/with-sshd. Connections are reset only below two_networks.sh.
# shellcheck source=tests/survive/lib.sh
. "$(dirname "$0")/lib.sh"

method=$1 calls=$2 steps=$3 fault_every=$4
threads=2
seed=${RPMEM_TEST_SEED:-$RANDOM}
log=$LOCAL/log image=$LOCAL/image
part=$RPMEM_TEST_DIR/target1/parts/part0
counts_file=$LOCAL/counts

make_pool_of_two_replicas() {
    RPMEM_CMD=$(target_make 1)
    export RPMEM_CMD
    pool=$LOCAL/pool.set
    write_set "$pool" '' "40M:$LOCAL/part0"
    add_remote "$pool" "$pool"
    write_set "$(target_set 1)" '' "40M:$part"
    must client pmempool create obj --layout=rpmem_workload "$pool"
}

# make_image: copies the target's part to $image, as the only replica of its pool.
make_image() {
    local both=$LOCAL/both.set
    cp --sparse=always "$part" "$image"
    cp --sparse=always "$part" "$LOCAL/durable"
    cp --sparse=always "$LOCAL/part0" "$LOCAL/other"
    write_set "$LOCAL/image.set" '' "40M:$image"
    write_set "$both" '' "40M:$image"
    printf 'REPLICA\n40M %s\n' "$LOCAL/other" >>"$both"
    must offline pmempool transform "$both" "$LOCAL/image.set"
}

make_target_that_logs() {
    local dir=$RPMEM_TEST_DIR/target1 words=() command
    truncate -s 256 "$counts_file"
    must "$RPMEM_CHECK_PREFIXES" begin "$log" 1024 "$fault_every" "$seed"
    [ "$method" = msync ] || words=(PMEM_IS_PMEM_FORCE=1)
    command=$(target_make 1 "${words[@]}" LD_PRELOAD="$RPMEM_LOG_MEDIUM" RPMEM_MEDIUM_LOG="$log" \
        RPMEM_MEDIUM_PART="$part" RPMEM_MEDIUM_DURABLE="$LOCAL/durable" \
        RPMEM_MEDIUM_COUNTS="$counts_file" -- --peer-timeout "${peer_timeout}000")
    printf '#!/bin/sh\necho $$ >%s/pid\nexec env %s "$@"\n' "$dir" "$command" >"$dir/rpmemd"
    chmod 755 "$dir/rpmemd"
    RPMEM_CMD=$dir/rpmemd
}

# cut_off: returns 1 if there is no connection to cut off at this moment.
cut_off() {
    local ways=(kill_ssh kill_sshd_session)
    [ -z "${RPMEM_TEST_SSHD_NETWORK:-}" ] || ways+=("reset_connections lanes" "reset_connections ssh")
    # shellcheck disable=SC2086 # words
    (${ways[RANDOM % ${#ways[@]}]}) >/dev/null 2>&1 || return 1
    cuts=$((cuts + 1))
}

run_program() {
    local status=0
    cuts=0
    [ "$calls" = persists ] || RPMEM_CLIENT_PRELOAD=$RPMEM_FLUSH_CLIENT
    RPMEM_CLIENT_ENV+=" RPMEM_FLUSH_CLIENT_LOG=$LOCAL/calls"
    workload run "$pool" --threads "$threads" --steps "$steps" --counts "$counts_file" \
        >"$LOCAL/output" 2>&1 &
    program=$!
    # An open that is cut off fails, so wait until the program works. A short run may end before a
    # second cut.
    expect_progress 60 || fail "the program does not begin, seed $seed"
    until cut_off || ! kill -0 "$program" 2>/dev/null; do
        sleep 0.05
    done
    while kill -0 "$program" 2>/dev/null; do
        sleep "$((RANDOM % 3)).$((RANDOM % 10))"
        cut_off
    done
    wait "$program" || status=$?
    RPMEM_CLIENT_PRELOAD=
    [ "$status" -eq 0 ] || fail "status $status of the program, seed $seed: $(cat "$LOCAL/output" "$LOCAL/library.log")"
}

# check LEAVE_OUT: checks each state of the medium. LEAVE_OUT=N omits each Nth range, 0 none.
check() {
    cp --sparse=always "$LOCAL/first" "$image"
    offline "$RPMEM_CHECK_PREFIXES" check "$log" "$image" "$LOCAL/image.set" "$counts_file" \
        "$threads" "$1"
}

step "a pool, and what its replica is at first"
make_pool_of_two_replicas
make_image
cp --sparse=always "$image" "$LOCAL/first"
make_target_that_logs
step "$steps steps by $threads threads, seed $seed"
run_program
[ "$cuts" -gt 0 ] || fail "nothing was cut off"
if [ "$calls" = flushes ]; then
    cat "$LOCAL/calls"
    ! grep -q ' 0 [fd]' "$LOCAL/calls" || fail "nothing was flushed"
fi
step "each moment of the medium; ssh or lanes were cut off $cuts times"
check 0 || fail "seed $seed"
# This proves that the check detects missing ranges: it must fail, or time out in libpmemobj.
step "a medium that loses each 50th range"
! check 50 || fail "nobody noticed that ranges are missing"
