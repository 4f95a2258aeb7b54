#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# alone.sh SCENARIO...
#
# Tests a stock libpmemobj program that goes on alone (RPMEM_ON_LOSS=alone) while its target is away.
# The target comes back after a time, after the program has closed the pool, or with other bytes: with
# an older backup that was put over its part, with one in a file of its own, and with the part of
# another pool. After each return the program is stopped between two steps, and all live objects of both
# sides are compared. It fails if they differ while the replica is in sync, if the program gets an
# error in an absence, or if the library writes to, or trusts, a part that is not the replica.
#   SCENARIO  the name of a function below; a comma in it stands for a blank
# Connections are reset only below two_networks.sh.
#   RPMEM_CTL  rpmemctl
#   RPMEM_ALONE_TIMEOUT  RPMEM_RECONNECT_TIMEOUT of the program; default 500. With 0 it goes on alone
#                        after each loss, also if the target is there
#   RPMEM_ALONE_RESTORE_AFTER  seconds from the loss of the target to the restored backup; the default
#                              is as short as the library promises to notice
# shellcheck disable=SC2317,SC2046 # scenarios are called by name; paths hold no blanks
RPMEM_SURVIVE_CLIENT="RPMEM_ON_LOSS=alone RPMEM_RECONNECT_TIMEOUT=${RPMEM_ALONE_TIMEOUT:-500}"
# shellcheck source=tests/survive/lib.sh
. "$(dirname "$0")/lib.sh"

replica=$RPMEM_TEST_DIR/target1/parts/part0
log=$LOCAL/library.log
restore_after=${RPMEM_ALONE_RESTORE_AFTER:-$((peer_timeout + 3))}

# logged_since LINE TEXT: TEXT is in the library's log after that number of lines.
logged_since() {
    tail -n +$(($1 + 1)) "$log" | grep -q "$2"
}

log_lines() {
    wc -l <"$log"
}

# await_logged LINE TEXT: waits for at most 60 s.
await_logged() {
    local attempt
    for ((attempt = 0; attempt < 600; attempt++)); do
        ! logged_since "$1" "$2" || return 0
        sleep 0.1
    done
    fail "not logged within 60 s: $2: $(cat "$log")"
}

# leave_target: the target is away when this returns, and the program has made steps without it.
leave_target() {
    local from
    from=$(log_lines)
    lose_target
    await_logged "$from" 'goes on without its replica'
    expect_progress $resume_time || fail "no progress without the target"
}

# list_target: writes the list of target 1 to $LOCAL/list. sshd may just be starting.
list_target() {
    local attempt
    for ((attempt = 0; attempt < 100; attempt++)); do
        ! client "$ctl" list "$RPMEM_TEST_TARGET" >"$LOCAL/list" 2>&1 || return 0
        sleep 0.1
    done
    fail "the target cannot be listed: $(cat "$LOCAL/list")"
}

# The program ends while its target is away, which is no error.
end_alone() {
    local from
    from=$(log_lines)
    end_work
    logged_since "$from" 'is closed without its replica' || fail "not logged: $(cat "$log")"
}

# --- scenarios -----------------------------------------------------------------------------------

# absence SECONDS
absence() {
    leave_target
    sleep "$1"
    return_target
    expect_equal_in_pause 60
}

# cut_off [ssh|lanes]: all connections are reset. The target is not away.
cut_off() {
    suffer reset_connections "$@"
    expect_equal_in_pause 60
}

# rest_of_life: the target returns after the program has closed the pool. Its record must say meanwhile
# that it may lack calls, and the next session makes both sides equal.
rest_of_life() {
    local from
    leave_target
    end_alone
    return_target
    list_target
    grep -q 'may lack calls' "$LOCAL/list" || fail "not in the record: $(cat "$LOCAL/list")"
    cmp -s -i 8192 "$LOCAL/part0" "$replica" && fail "this test cannot fail: both sides are equal"
    from=$(log_lines)
    begin_work
    expect_equal_in_pause 60
    logged_since "$from" 'lack calls of an earlier session, so it is compared' || fail "the replica was not compared: $(cat "$log")"
}

# leave_in_pause: the target is away, and the program makes no step that would mark what it has.
leave_in_pause() {
    leave_target
    pause_work
    sleep "$restore_after"
}

# older_backup: somebody puts an older backup over the part. Slots that the program does not change
# while the target is away are older there, so its marks do not cover them.
older_backup() {
    local from
    from=$(log_lines)
    leave_in_pause
    cp --no-preserve=all "$LOCAL/backup" "$replica"
    return_target
    await_in_sync 60
    expect_same_objects "$pool" "$(remote_set 1)" "$LOCAL/live"
    logged_since "$from" 'its parts were changed while it was away' || fail "not logged: $(cat "$log")"
    resume_work
}

# replaced_by FILE: the part is a copy of FILE, in a file of its own, when the target returns. The
# program must end, because the pool there is not its own. No byte of that part may change.
replaced_by() {
    local status=0
    leave_in_pause
    mv "$replica" "$LOCAL/real"
    cp --sparse=always "$1" "$replica"
    return_target
    resume_work
    timeout 60 tail --pid="$program" -f /dev/null || fail "the program goes on with another part"
    wait "$program" || status=$?
    [ "$status" -ne 0 ] || fail "no call has failed: $(cat "$log")"
    must cmp "$1" "$replica"
    list_target
}

# put_back: the program gets its own replica again, and both sides become equal.
put_back() {
    mv "$LOCAL/real" "$replica"
    begin_work
    expect_equal_in_pause 60
}

# other_file: an older backup, without its record. A program that starts must not trust it either: its
# run ID is smaller. Nothing proves that the memory is the source, so nothing is sent.
other_file() {
    local from
    replaced_by "$LOCAL/backup"
    from=$(log_lines)
    must workload run "$pool" --threads "$threads" --steps 1 --counts "$counts_file" >"$LOCAL/output"
    logged_since "$from" 'lacks whole runs of the program' || fail "trusted: $(tail -n +"$from" "$log")"
    logged_since "$from" 'Nothing was sent' || fail "not logged: $(tail -n +"$from" "$log")"
    put_back
}

other_pool() {
    must offline pmempool create obj --layout=rpmem_workload --size="$pool_size" "$LOCAL/foreign"
    replaced_by "$LOCAL/foreign"
    must_fail workload run "$pool" --threads "$threads" --steps 1 >"$LOCAL/output" 2>&1
    must cmp "$LOCAL/foreign" "$replica"
    put_back
}

# older_between_runs: the older backup is put over the part while no program runs. Its time of
# modification shows that somebody has changed it, and nothing proves that it is older than the memory. So
# nothing is sent until the operator says which side is right.
older_between_runs() {
    local from
    end_work
    cp --no-preserve=all "$LOCAL/backup" "$replica"
    from=$(log_lines)
    must workload run "$pool" --threads 16 --steps 1 --counts "$counts_file" >"$LOCAL/output"
    logged_since "$from" 'Nothing was sent' || fail "trusted: $(tail -n +"$from" "$log")"
    must client "$ctl" push "$pool" "$RPMEM_TEST_TARGET" pool1.set >"$LOCAL/output" 2>&1
    begin_work
    expect_equal_in_pause 60
}

# --- the pool ------------------------------------------------------------------------------------

make_pool 1
cp --sparse=always "$replica" "$LOCAL/backup"
# Slots that are not changed later: those of threads after the fourth.
must workload run "$pool" --threads 16 --steps 10 --counts "$counts_file" >"$LOCAL/output"
begin_work
for scenario in "$@"; do
    step "$scenario"
    # shellcheck disable=SC2086 # words
    ${scenario//,/ }
done
end_work
expect_survived 1
