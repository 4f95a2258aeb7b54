#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hidden.sh RPMEMCTL
#
# Tests with stock pmempool and libpmemobj that nothing opens a replica that is catching up. The
# program goes on alone, its target comes back and catches up slowly, and both are killed. The test
# fails if stock programs open that part on the target, if rpmemctl does not know the pool any more,
# or if the header is not the former one after the program, rpmemctl push or rpmemctl accept has
# ended the state.
# shellcheck disable=SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

ctl=$1
out=$RPMEM_TEST_DIR/out log=$LOCAL/library.log
part=$LOCAL/part0 replica=$RPMEM_TEST_DIR/target1/parts/part0
export XDG_STATE_HOME=$LOCAL/state
common="RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE=$log"
RPMEM_CLIENT_ENV=$common

# operator STATUS ARGUMENT...: runs rpmemctl, whose output is in $out.
operator() {
    local wanted=$1 status=0
    shift
    client "$ctl" "$@" </dev/null >"$out" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "rpmemctl $*: status $status, not $wanted: $(cat "$out")"
}

says() {
    grep -q -- "$1" "$out" || fail "not said: $1: $(cat "$out")"
}

# wait_for WHAT COMMAND...: waits until COMMAND succeeds.
wait_for() {
    local what=$1 attempt
    shift
    for ((attempt = 0; attempt < 200; attempt++)); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    fail "$what: $(cat "$LOCAL/said" "$log")"
}

hidden() {
    cmp -s -n 4096 "$replica" /dev/zero
}

# daemon: prints the process that has locked the replica.
daemon() {
    lslocks --noheadings --raw --output PID,PATH | awk -v path="$replica" '$2 == path { print $1; exit }'
}

# in_use: looks without a lock of its own, which would keep the daemon from opening the pool.
in_use() {
    [ -n "$(daemon)" ]
}

# left_catching_up: the replica is catching up, and neither its program nor its daemon lives.
left_catching_up() {
    local program process
    RPMEM_CLIENT_ENV="$common RPMEM_ON_LOSS=alone RPMEM_RECONNECT_TIMEOUT=0 RPMEM_CATCH_UP_RATE=65536"
    workload run "$pool" --threads 1 --steps 100000000 >"$LOCAL/said" 2>&1 &
    program=$!
    wait_for "the program has not opened the pool" in_use
    sleep 1
    process=$(daemon)
    [ -n "$process" ] || fail "no daemon has the replica"
    kill -KILL "$process"
    wait_for "the first page is not hidden" hidden
    pkill -KILL -f "$RPMEM_WORKLOAD run $pool " || fail "the program has ended: $(cat "$LOCAL/said")"
    wait $program
    RPMEM_CLIENT_ENV=$common
    wait_until_free
    must hidden
}

expect_unusable() {
    must_fail offline pmempool info "$replica" >"$out" 2>&1
    must_fail offline pmempool check "$target" >"$out" 2>&1
    must_fail offline "$RPMEM_WORKLOAD" run "$target" --threads 1 --steps 1 >"$out" 2>&1
    must hidden
    operator 0 list "$RPMEM_TEST_TARGET"
    says 'catching up'
    operator 4 check "$RPMEM_TEST_TARGET" pool.set
    operator 0 info "$RPMEM_TEST_TARGET" pool.set
    says PMEMOBJ
}

make_pool() {
    remote_pool single
    must client pmempool create obj --layout=rpmem_workload "$pool"
    must workload run "$pool" --threads 1 --steps 12 >"$out"
    wait_until_free
    head -c 4096 "$replica" >"$LOCAL/header"
}

expect_header() {
    wait_until_free
    must cmp -n 4096 "$LOCAL/header" "$replica"
}

make_pool
must offline pmempool info "$replica" >"$out"

step "stock programs do not open a part that is catching up, and its program makes it whole"
left_catching_up
expect_unusable
must workload run "$pool" --threads 1 --steps 1 >"$out"
expect_header

step "rpmemctl push makes it whole, and stock programs open it after a take"
left_catching_up
operator 0 push "$pool" "$RPMEM_TEST_TARGET" pool.set
expect_header
operator 0 take "$RPMEM_TEST_TARGET" pool.set --yes
must offline pmempool check "$target" >"$out"
must offline "$RPMEM_WORKLOAD" run "$target" --threads 1 --steps 5 >"$out"

step "an accepted copy has its header again"
operator 0 remove "$RPMEM_TEST_TARGET" pool.set --force
must offline pmempool rm -f "$part" >"$out"
make_pool
left_catching_up
operator 0 accept "$RPMEM_TEST_TARGET" pool.set --yes
expect_header

step "a take shows the page although the record was removed"
operator 0 remove "$RPMEM_TEST_TARGET" pool.set --force
must offline pmempool rm -f "$part" >"$out"
make_pool
left_catching_up
python3 -c 'import os, sys; os.removexattr(sys.argv[1], "user.rpmem.pool")' "$replica" ||
    rm -f "$RPMEM_TEST_DIR"/target1/state/pool-*
operator 0 take "$RPMEM_TEST_TARGET" pool.set --yes
must offline pmempool check "$target" >"$out"
