#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# equalize.sh RPMEMCTL HELD_BACK FIRST_WRITE POINTS
#
# Tests that a replica which lacks the last bytes of a killed libpmemobj program gets them before the
# first write of the next session, and that nothing is sent without a proof of direction: from a
# restored backup, from other memory, from memory into which the replica was read, or by pmempool
# sync. It fails if the replica differs after the next orderly close, or if one byte of the replica
# changes in a session that may not send.
#   POINTS  how many calls between the local and the remote persist the program is killed at
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/clients/held_back.sh
. "$(dirname "$0")/held_back.sh"

ctl=$1 held_back=$2 first_write=$3 points=$4
out=$RPMEM_TEST_DIR/out log=$LOCAL/library.log
part=$LOCAL/part0 replica=$RPMEM_TEST_DIR/target1/parts/part0
export XDG_STATE_HOME=$LOCAL/state
RPMEM_CLIENT_ENV="RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE=$log"

remote_pool single
must client pmempool create obj --layout=rpmem_workload "$pool"

# compared: prints the status of rpmemctl verify: 0 if the replica is equal, 4 if it differs.
compared() {
    local status=0
    client "$ctl" verify "$pool" "$RPMEM_TEST_TARGET" pool.set >"$out" 2>&1 || status=$?
    echo $status
}

# restarted: makes another step in a session of its own. Succeeds if all live objects are equal then.
# libpmemobj never makes stale words in free memory durable, so they may differ after any session.
restarted() {
    must workload run "$pool" --threads 1 --steps 1 >"$out"
    wait_until_free
    must workload extents "$pool" --threads 1 --extents "$LOCAL/extents"
    (expect_same_objects "$pool" "$target" "$LOCAL/extents") >"$out" 2>&1
}

# write_first MODE [FILE]: makes one write in a session of its own.
write_first() {
    : >"$log"
    must client "$first_write" "$1" "${2:-$part}" "$RPMEM_TEST_TARGET" pool.set
    wait_until_free
}

# expect_nothing_sent WHY COMMAND...: no byte of the replica may change, and the log has to say WHY.
expect_nothing_sent() {
    local why=$1
    shift
    cp --sparse=always "$replica" "$LOCAL/before"
    "$@"
    must cmp -i 4096 "$LOCAL/before" "$replica"
    [ -z "$why" ] || grep -q "Nothing was sent.*$why" "$log" || fail "not said ($why): $(cat "$log")"
}

# make_behind: the replica lacks bytes that this machine has.
last_call=20
make_behind() {
    local attempt
    for ((attempt = 0; attempt < 60; attempt++)); do
        fresh
        last_call=$((last_call % 240 + 3))
        killed_at $last_call 1 12
        [ "$(compared)" != 4 ] || return 0
        write_first map
    done
    fail "no call of 60 leaves the replica behind"
}

# begin_behind: the replica was equal, this machine has the record of it, and then it falls behind.
begin_behind() {
    must client "$ctl" push "$pool" "$RPMEM_TEST_TARGET" pool.set >"$out"
    write_first map
    make_behind
}

restored() {
    "$@"
    write_first map
}

must workload run "$pool" --threads 1 --steps 12 >"$out"
keep_base

step "the replica gets what it lacks before the first write"
make_behind
write_first map
grep -q 'the replica is equal again' "$log" || fail "not said: $(cat "$log")"
[ "$(compared)" = 0 ] || fail "the replica differs: $(cat "$out")"
"$ctl" list "$RPMEM_TEST_TARGET" >"$out" 2>&1 || fail "list: $(cat "$out")"
! grep -q behind "$out" || fail "still behind: $(cat "$out")"

step "nothing is sent by a session that only reads, or with RPMEM_EQUALIZE=no"
make_behind
expect_nothing_sent '' write_first only-read
expect_nothing_sent '' must client pmempool info "$pool" >"$out"
RPMEM_CLIENT_ENV+=" RPMEM_EQUALIZE=no" expect_nothing_sent '' write_first map
[ "$(compared)" = 4 ] || fail "this test cannot fail: the replica is equal without being compared"

step "nothing is sent from other memory than that of the last session"
begin_behind
expect_nothing_sent 'no shared mapping of a file' write_first copy
expect_nothing_sent '' write_first empty
begin_behind
cp --sparse=always "$part" "$LOCAL/aside"
expect_nothing_sent 'another file' restored mv "$LOCAL/aside" "$part"

step "a replica that is catching up is refused to others, and its source still makes it equal"
begin_behind
"${0%/*}/../ctl/catch_up" "$replica" 1700000000 || fail "the record cannot be changed"
must_fail client "$first_write" copy "$part" "$RPMEM_TEST_TARGET" pool.set 2>"$out"
grep -q 'the replica is inconsistent' "$out" || fail "refused for another reason: $(cat "$out")"

# pmempool sync removes each replica that it cannot open, and copies the local pool.
cp --sparse=always "$replica" "$LOCAL/before"
must_fail client pmempool sync "$pool" >"$out" 2>&1
[ -e "$replica" ] && cmp -i 4096 "$LOCAL/before" "$replica" || fail "pmempool sync has removed the newest copy"
write_first map
grep -q 'the replica is equal again' "$log" || fail "not said: $(cat "$log")"
[ "$(compared)" = 0 ] || fail "the replica differs: $(cat "$out")"

step "nothing is sent after another session has written"
begin_behind
XDG_STATE_HOME=$LOCAL/other write_first map
expect_nothing_sent 'is not the one' write_first map

for way in "cp --no-preserve=all" "cp --preserve=timestamps" "cp_and_rename"; do
    step "nothing is sent from a backup that was restored by $way"
    begin_behind
    cp_and_rename() { cp --preserve=timestamps "$1" "$2.new" && mv "$2.new" "$2"; }
    cp --sparse=always "$part" "$LOCAL/good"
    expect_nothing_sent 'older copy\|backup\|another file' restored $way "$LOCAL/base" "$part"
    cp --sparse=always "$LOCAL/good" "$part"
done

step "a session on a copy that is older than a closed replica keeps no record"
must client "$ctl" push "$pool" "$RPMEM_TEST_TARGET" pool.set >"$out"
fresh
must workload run "$pool" --threads 1 --steps 1 >"$out"
wait_until_free
cp --sparse=always "$LOCAL/base" "$part"
write_first map
grep -q 'The program writes to a newer replica' "$log" || fail "not said: $(cat "$log")"
[ -z "$(ls "$XDG_STATE_HOME/librpmem")" ] || fail "the record is still there"

for mode in read-into read-beside; do
    step "nothing is sent from memory into which the replica was read ($mode)"
    begin_behind
    cp --sparse=always "$part" "$LOCAL/good"
    expect_nothing_sent '' write_first $mode
    cp --sparse=always "$LOCAL/good" "$part"
    [ -z "$(ls "$XDG_STATE_HOME/librpmem")" ] || fail "the record is still there"
    expect_nothing_sent '' write_first map
done

step "nothing is sent by pmempool sync, which repairs this machine from the replica"
begin_behind
expect_nothing_sent '' must client pmempool sync "$pool"
rm "$part"
expect_nothing_sent '' must client pmempool sync "$pool"
restarted || fail "the replica differs after the repair: $(cat "$out")"

# one_point NUMBER: kills the program at a point that depends on NUMBER, and starts it again.
one_point() {
    fresh
    killed_at $(($1 * 97 % 251 + 1)) 1 12
    restarted
}

step "without the comparison the replica stays behind"
differed=0
for ((point = 1; point <= 60 && differed == 0; point++)); do
    RPMEM_CLIENT_ENV="RPMEM_EQUALIZE=no $RPMEM_CLIENT_ENV" one_point $point || differed=$point
done
[ "$differed" -gt 0 ] || fail "this test cannot fail: no kill of 60 leaves the replica behind"
must client "$ctl" push "$pool" "$RPMEM_TEST_TARGET" pool.set >"$out"

step "killed at $points points between the local and the remote persist, and started again"
for ((point = differed; point < differed + points; point++)); do
    one_point $point || fail "the replica differs after the kill number $point: $(cat "$out")"
done
