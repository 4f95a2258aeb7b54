#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# versions.sh PROGRAM HEAD_LIBRARY HEAD_DAEMON RPMEMCTL ENDS
#
# Tests an initiator and a target of two versions: create, open, persist, read, the loss of the
# session in the middle, and close. It fails if a byte is missing after a close, if a session is not
# resumed although both ends can, if a loss is not reported where one of them cannot, if
# RPMEM_ON_LOSS promises what the target cannot keep, or if the daemon of HEAD_DAEMON trusts a pool
# into which another daemon has written.
#
# RPMEM_CLIENT_LIBDIR has the librpmem.so.1 of the initiator, and RPMEM_DAEMON is the target's rpmemd.
# ENDS is what they have in common:
#   compares  both are of this version
#   resumes   both resume sessions; one of them cannot compare replicas
#   0.1       one of them is, or plays, one of protocol 0.1
# A daemon that does not see the offer in its environment plays one of protocol 0.1.
set -u

program=$1 head_library=$2 head_daemon=$3 ctl=$4 ends=$5
: "${RPMEM_CLIENT_LIBDIR:?}" "${RPMEM_DAEMON:?}"
: "${RPMEM_TEST_DIR:?run this with tests/support/with-sshd}"
library=$RPMEM_CLIENT_LIBDIR/librpmem.so.1
dir=$RPMEM_TEST_DIR replica=$RPMEM_TEST_DIR/parts/part0
log=$dir/library.log out=$dir/out
size=16 first_at=4096 second_at=1048576 range=65536
mkdir -p "$dir/sets" "$dir/parts"

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    [ ! -f "$out" ] || sed 's/^/    program: /' "$out" >&2
    [ ! -f "$dir/rpmemd.log" ] || tail -n 20 "$dir/rpmemd.log" >&2
    exit 1
}

step() {
    printf '== %s (after %s s)\n' "$*" "$SECONDS"
}

# use_daemon FILE [WORD...]: makes FILE the target's rpmemd. WORD comes before it.
use_daemon() {
    local file=$1 options="--poolset-dir $dir/sets --log-file $dir/rpmemd.log --log-level notice"
    shift
    # The daemon of 1.12.1 has none of these options.
    if "$file" --help 2>&1 | grep -q -e --state-dir; then
        options+=" --state-dir $dir/state --sockets"
    fi
    export RPMEM_CMD="$* '$file' $options"
}

use_tested_daemon() {
    if [ "$ends" = 0.1 ]; then
        use_daemon "$RPMEM_DAEMON" "unset RPMEMD_OFFER;"
    else
        use_daemon "$RPMEM_DAEMON"
    fi
}

# run LIBRARY CALL SEED [WORD...]: runs the program on the pool. WORD is an assignment for it.
run() {
    local library=$1 call=$2 seed=$3
    shift 3
    : >"$log"
    env RPMEM_ENABLE_SOCKETS=1 RPMEM_ENABLE_VERBS=0 RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE="$log" "$@" \
        timeout --kill-after=5 60 "$program" "$library" "$call" "$RPMEM_TEST_TARGET" pool.set \
        "$dir/local" "$seed" >"$out" 2>&1 </dev/null
}

says() {
    grep -q -- "$1" "${2:-$out}" || fail "not said: $1"
}

wait_until_free() {
    flock --timeout 20 "$replica" true || fail "the replica is still locked after 20 s"
}

# expect_range AT: the bytes of a range are equal on both sides.
expect_range() {
    cmp -i "$1" -n $range "$dir/local" "$replica" || fail "the replica differs at $1"
}

fresh() {
    rm -rf "$dir/parts" "$dir/state" "$dir/local" "$XDG_STATE_HOME/librpmem"
    mkdir -p "$dir/parts"
    truncate -s ${size}M "$dir/local"
    printf 'PMEMPOOLSET\n%sM %s\n' $size "$replica" >"$dir/sets/pool.set"
}

# lost KIND: starts the program, kills its daemon in the middle, and lets the program continue.
lost() {
    local began daemons
    rm -f "$dir/line"
    mkfifo "$dir/line"
    env RPMEM_ENABLE_SOCKETS=1 RPMEM_ENABLE_VERBS=0 RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE="$log" \
        RPMEM_RECONNECT_TIMEOUT=20000 timeout --kill-after=5 90 "$program" "$library" open \
        "$RPMEM_TEST_TARGET" pool.set "$dir/local" 3 wait >"$out" 2>&1 <"$dir/line" &
    program_pid=$!
    exec 3>"$dir/line"
    for ((began = SECONDS; SECONDS - began < 30; )); do
        ! grep -q '^ready' "$out" || break
        sleep 0.05
    done
    says '^ready'
    # The path of the pool sets is that of this test alone.
    daemons=$(pgrep -f -- "^[^ ]*rpmemd .*--poolset-dir $dir/sets ") || fail "there is no daemon to kill"
    # shellcheck disable=SC2086 # a list of words
    kill -KILL $daemons
    wait_until_free
    echo go >&3
    exec 3>&-
    wait $program_pid || fail "the program has ended with status $?"
}

# change FILE: changes the second range of the part or of the memory, without rpmemd.
change() {
    head -c $range /dev/urandom |
        dd of="$1" bs=4096 seek=$((second_at / 4096)) conv=notrunc status=none
}

# expect_listed GREP-OPTION...: looks at the line of the pool in rpmemctl list.
expect_listed() {
    "$ctl" list "$RPMEM_TEST_TARGET" >"$out" 2>&1 || fail "rpmemctl list"
    grep 'pool.set' "$out" | grep -q "$@" || fail "not listed: $*"
}

use_tested_daemon
step "create, persist, read, close"
fresh
run "$library" create 1 || fail "the pool cannot be created"
[ "$(grep -c ': 0$' "$out")" = 4 ] || fail "a call has failed"
says '^bytes: equal'
wait_until_free
expect_range $first_at

step "open, persist, read, close"
run "$library" open 2 || fail "the pool cannot be opened"
[ "$(grep -c ': 0$' "$out")" = 4 ] || fail "a call has failed"
says '^bytes: equal'
wait_until_free
expect_range $first_at

step "the session is lost in the middle"
lost
if [ "$ends" = 0.1 ]; then
    [ "$(grep -c '^persist: 0$' "$out")" = 1 ] || fail "a persist without a session has succeeded"
    [ ! "$library" -ef "$head_library" ] || says '^persist: 104 '
else
    [ "$(grep -c ': 0$' "$out")" = 6 ] || fail "the session was not resumed"
    [ "$(grep -c '^bytes: equal' "$out")" = 2 ] || fail "the replica differs"
    expect_range $second_at
fi
wait_until_free
expect_range $first_at
run "$library" open 4 || fail "the pool cannot be opened after the loss"
[ "$(grep -c ': 0$' "$out")" = 4 ] || fail "a call has failed"
wait_until_free

if [ "$library" -ef "$head_library" ]; then
    step "RPMEM_ON_LOSS"
    for on_loss in wait alone; do
        cp "$replica" "$dir/before"
        can=yes
        run "$library" open 5 RPMEM_ON_LOSS=$on_loss RPMEM_EQUALIZE=yes || can=no
        wait_until_free
        case $ends.$on_loss in
        0.1.* | resumes.alone)
            [ $can = no ] || fail "RPMEM_ON_LOSS=$on_loss is accepted"
            says '^open: 95 .*RPMEM_ON_LOSS=fail'
            cmp -i 4096 "$dir/before" "$replica" || fail "a session that was refused has written"
            ;;
        *) [ $can = yes ] || fail "RPMEM_ON_LOSS=$on_loss is refused" ;;
        esac
    done
fi

# What follows needs a daemon of this version, and one that does not know its record. Instead of the
# latter, a program may write to the part.
step "another daemon writes to a pool that has a record"
fresh
use_daemon "$head_daemon"
run "$head_library" create 1 RPMEM_EQUALIZE=yes || fail "the pool cannot be created"
wait_until_free
run "$head_library" open 1 RPMEM_EQUALIZE=yes || fail "the pool cannot be opened"
wait_until_free
! grep -q 'another program' "$log" "$dir/rpmemd.log" || fail "noticed before it happened: $(cat "$log")"
cp "$dir/local" "$dir/aside"
if cmp -s "$RPMEM_DAEMON" "$head_daemon"; then
    change "$replica"
else
    use_tested_daemon
    run "$library" open 9 || fail "the pool cannot be opened by the other daemon"
    wait_until_free
    head -c $range /dev/zero | dd of="$dir/aside" bs=4096 seek=$((first_at / 4096)) conv=notrunc status=none
    use_daemon "$head_daemon"
fi
cp "$dir/aside" "$dir/local" # this machine lacks what the other session has written
expect_listed -w behind
cp "$replica" "$dir/before"
run "$head_library" open 1 RPMEM_EQUALIZE=yes || fail "the pool cannot be opened again"
wait_until_free
says 'another program, such as rpmemd 1.12.1' "$log"
says 'Nothing was sent, because the last session that wrote' "$log"
cmp -i $((first_at + range)) "$dir/before" "$replica" || fail "bytes of the other session are lost"

step "a replica that is equal is trusted again"
change "$dir/local"
run "$head_library" open 1 RPMEM_EQUALIZE=yes || fail "the pool cannot be opened with other memory"
says 'Nothing was sent' "$log" # so it stays behind
wait_until_free
cp "$replica" "$dir/local"
run "$head_library" open 1 RPMEM_EQUALIZE=yes || fail "the pool cannot be opened with equal memory"
wait_until_free
says 'the replica is equal again' "$log"
run "$head_library" open 1 RPMEM_EQUALIZE=yes || fail "the pool cannot be opened"
wait_until_free
! grep -q behind "$log" || fail "it is still behind: $(cat "$log")"
expect_listed -w closed

step "an operator accepts what another program has changed"
change "$replica"
expect_listed -w behind
"$ctl" accept --yes "$RPMEM_TEST_TARGET" pool.set >"$out" 2>&1 || fail "rpmemctl accept"
expect_listed -w closed
step "done"
