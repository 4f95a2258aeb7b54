#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# take.sh RPMEMCTL FIRST_WRITE AWAIT_STEPS
#
# Tests rpmemctl accept and take with stock libpmemobj. The program goes on alone
# (RPMEM_ON_LOSS=alone), is killed, and its replica may lack writes. The test fails if an operator
# gets that copy without saying so, if the former program writes one byte to a copy that was
# accepted or taken, if pmempool sync removes it, or if stock libpmemobj does not open and continue a
# taken pool on the target.
# shellcheck disable=SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

ctl=$1 first_write=$2 RPMEM_AWAIT_STEPS=$3
out=$RPMEM_TEST_DIR/out log=$LOCAL/library.log
part=$LOCAL/part0 replica=$RPMEM_TEST_DIR/target1/parts/part0
export XDG_STATE_HOME=$LOCAL/state
alone="RPMEM_ON_LOSS=alone RPMEM_RECONNECT_TIMEOUT=300"
RPMEM_CLIENT_ENV="RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE=$log"

remote_pool single
must client pmempool create obj --layout=rpmem_workload "$pool"
must workload run "$pool" --threads 1 --steps 12 >"$out"
cp --sparse=always "$part" "$LOCAL/base"

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

# running: starts the program with RPMEM_CLIENT_ENV, and waits until it has made two steps.
running() {
    rm -f "$LOCAL/counts"
    workload run "$pool" --threads 1 --until "$LOCAL/done" --counts "$LOCAL/counts" >"$LOCAL/said" 2>&1 &
    program=$!
    "$RPMEM_AWAIT_STEPS" "$LOCAL/counts" 1 60 "$program" || fail "the program does not begin: $(cat "$LOCAL/said")"
}

# killed: the program has written and may go on alone, and is killed.
killed() {
    RPMEM_CLIENT_ENV+=" $alone" running
    pkill -KILL -f "$RPMEM_WORKLOAD run $pool " || fail "the program has ended: $(cat "$LOCAL/said")"
    wait $program
    wait_until_free
}

# expect_unchanged COMMAND...: no byte of the replica may change.
expect_unchanged() {
    cp --sparse=always "$replica" "$LOCAL/before"
    "$@"
    must cmp "$LOCAL/before" "$replica"
}

refused_write() {
    local status=0
    client "$first_write" map "$part" "$RPMEM_TEST_TARGET" pool.set 2>"$out" || status=$?
    [ "$status" -eq 1 ] || fail "the former program has written (status $status): $(cat "$out")"
    wait_until_free
    says 'has accepted its copy'
}

# program_ends_early: the former program fails before it has written.
program_ends_early() {
    local status=0
    workload run "$pool" --threads 1 --steps 1 >"$LOCAL/said" 2>&1 || status=$?
    [ "$status" -ne 0 ] || fail "the former program has written: $(cat "$LOCAL/said" "$log")"
    wait_until_free
}

step "a copy that may lack acknowledged writes is not taken without --accept-loss"
killed
expect_unchanged operator 1 take "$RPMEM_TEST_TARGET" pool.set --yes
says 'pool.set is not taken: the session of .* that began .* could go on without it'
operator 1 accept "$RPMEM_TEST_TARGET" pool.set
says 'nothing was changed; --yes answers'
operator 0 list "$RPMEM_TEST_TARGET"
says 'may lack calls'

step "an accepted copy is open to others, and its former program does not write to it"
operator 0 accept "$RPMEM_TEST_TARGET" pool.set --yes
says 'accepted pool.set as epoch .*: it may lack all that its program wrote since'
operator 0 accept "$RPMEM_TEST_TARGET" pool.set --yes
says 'needs no accept'
operator 0 check "$RPMEM_TEST_TARGET" pool.set
expect_unchanged refused_write
program_ends_early
operator 1 remove "$RPMEM_TEST_TARGET" pool.set
says 'an operator has accepted this copy'
XDG_STATE_HOME=$LOCAL/other must client "$first_write" copy "$part" "$RPMEM_TEST_TARGET" pool.set
wait_until_free
expect_unchanged refused_write

step "a push from another machine does not admit the former program"
cp --sparse=always "$replica" "$LOCAL/copy"
printf 'other bytes' | dd of="$LOCAL/copy" bs=1 seek=$((24 << 20)) conv=notrunc status=none
XDG_STATE_HOME=$LOCAL/other operator 0 push "$LOCAL/copy" "$RPMEM_TEST_TARGET" pool.set
expect_unchanged refused_write

step "another machine gets the accepted copy by pmempool sync, and goes on"
mv "$part" "$LOCAL/aside"
XDG_STATE_HOME=$LOCAL/other must client pmempool sync "$pool"
XDG_STATE_HOME=$LOCAL/other must workload run "$pool" --threads 1 --steps 3 >"$LOCAL/said"
wait_until_free
mv "$LOCAL/aside" "$part"
expect_unchanged refused_write

step "its operator decides for the former program by rpmemctl push"
# libpmemobj 1.12.1 cannot always restart after several kills, see equalize.sh.
cp --sparse=always "$LOCAL/base" "$part"
operator 0 push "$pool" "$RPMEM_TEST_TARGET" pool.set
must workload run "$pool" --threads 1 --steps 3 >"$LOCAL/said"
wait_until_free

step "a take ends a session, and is not lost in a second one"
running
expect_in_use=$program
operator 0 take "$RPMEM_TEST_TARGET" pool.set --yes
says 'ended session'
says "open it on the target as $target"
wait $expect_in_use
status=$?
[ "$status" -ne 0 ] || fail "the program goes on without its pool: $(cat "$LOCAL/said")"
grep -q 'evicted\|ESTALE\|Stale' "$LOCAL/said" "$log" || fail "the program ended for another reason"
operator 0 take "$RPMEM_TEST_TARGET" pool.set --yes --json
says '"headers_changed": false'

step "stock libpmemobj continues on the target, and not at the former primary"
must offline pmempool check -v "$target" >"$out"
must offline "$RPMEM_WORKLOAD" run "$target" --threads 1 --steps 5 >"$out"
program_ends_early
expect_unchanged must_fail client pmempool sync "$pool" >"$out" 2>&1
must offline "$RPMEM_WORKLOAD" run "$target" --threads 1 --steps 5 >"$out"

step "a copy with losses is taken with --accept-loss"
operator 0 remove "$RPMEM_TEST_TARGET" pool.set --force
must offline pmempool rm -f "$part" >"$out"
remote_pool single
must client pmempool create obj --layout=rpmem_workload "$pool"
killed
operator 0 take "$RPMEM_TEST_TARGET" pool.set --yes --accept-loss
says 'it may lack all that its program wrote since'
must offline pmempool check -v "$target" >"$out"
must offline "$RPMEM_WORKLOAD" run "$target" --threads 1 --steps 5 >"$out"
