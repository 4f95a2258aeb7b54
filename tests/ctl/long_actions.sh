#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# long_actions.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests that the digest of a large pool ends when its caller ends, for whatever reason, that it is a
# session that others see and can evict, and that it yields to a writer. The pool has 64 GiB with
# one byte in each chunk, so the real daemon reads it for at least 20 s. It fails if the target
# still reads afterwards, or if the pool stays locked. Run it below with-sshd.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4

# The pool must not be in memory, where a read of a hole allocates pages that stay.
disk=$(mktemp -d /var/tmp/rpmem-test.XXXXXX) || exit 99
trap 'rm -rf "$disk"' EXIT
size=$((64 << 30))
chunk=$((4 << 20))
image=$dir/image

# digests: prints the processes of the target that compute digests.
digests() {
    pgrep -f -- "^$daemon .*$sets .*--digest"
}

# soon SECONDS COMMAND...: waits until COMMAND succeeds, at most that time.
soon() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.05
    done
}

no_digests() { ! digests >/dev/null; }
is_seen() {
    "$ctl" sessions "$target" --json >"$dir/output" 2>"$dir/errors" </dev/null &&
        grep -q 'big.set' "$dir/output"
}

# starts: runs verify in a new process group, like a terminal does. $caller is rpmemctl.
starts() {
    env --default-signal=INT setsid "$ctl" verify "$image" "$target" big.set \
        </dev/null >"$dir/verify" 2>&1 &
    caller=$!
    soon 20 is_seen || fault "the digest is not seen" "$(cat "$dir/output" "$dir/errors" "$dir/verify")"
}

# ended CAUSE: expects no digest on the target, and the pool to be unlocked.
ended() {
    soon 5 no_digests || fault "$1: the target still reads: $(digests)"
    wait "$caller" 2>/dev/null
    run 0 sessions "$target"
    says 'no sessions'
    run 0 list "$target" --json
    has '/pool_sets/0/state="closed"'
    run 0 check "$target" big.set
}

made() {
    printf 'PMEMPOOLSET\nOPTION NOHDRS\n%s %s\n' "$size" "$disk/part0" >"$sets/big.set"
    (umask 077 && truncate -s "$size" "$disk/part0")
    perl -e 'open(my $file, "+<", $ARGV[0]) or die;
        for (my $at = 0; $at < $ARGV[1]; $at += $ARGV[2]) { sysseek($file, $at, 0); syswrite($file, "x"); }' \
        "$disk/part0" "$size" "$chunk" || fault "cannot write the part"
    truncate -s "$size" "$image"
    run 0 check "$target" big.set
}

seen() {
    starts
    has "/sessions/0/pool_set=\"$sets/big.set\"" /sessions/0/read_only=true '/sessions/0/host="rpmemctl"' \
        '/sessions/0/address="127.0.0.1"'
    run 0 list "$target" --json
    has '/pool_sets/0/state="in use"' '/pool_sets/0/sessions/0/host="rpmemctl"'
    run 0 info "$target" big.set
    says 'by session'
    # Other readers are permitted at the same time.
    run 0 check "$target" big.set
    kill -TERM "$caller"
    ended "SIGTERM for rpmemctl alone"
}

by_a_signal() {
    starts
    kill -INT -- "-$caller"
    ended "Ctrl-C"
    starts
    kill -KILL "$caller"
    ended "SIGKILL for rpmemctl alone"
}

# ssh or sshd dies. rpmemctl must report that, and the target must end the action.
by_a_dead_ssh() {
    local status=0
    starts
    pkill -KILL -P "$caller" || fault "rpmemctl has no ssh"
    wait "$caller" || status=$?
    [ "$status" = 1 ] || fault "status $status" "$(cat "$dir/verify")"
    ended "a killed ssh"
    starts
    # Find the sshd of the login, an ancestor of the daemon.
    local login
    login=$(sed -nE 's/.*"pid": ([0-9]+).*/\1/p' "$dir/output")
    until [[ $(cat "/proc/$login/comm") == sshd* ]]; do
        login=$(sed -nE 's/^PPid:\s+//p' "/proc/$login/status")
        [ "${login:-0}" -gt 1 ] || { fault "the daemon has no sshd"; return; }
    done
    kill -KILL "$login"
    ended "a killed sshd"
}

evicted() {
    local id status=0
    starts
    id=$(sed -nE 's/.*"id": "([0-9a-f]+)".*/\1/p' "$dir/output")
    run 0 evict "$target" "$id"
    wait "$caller" || status=$?
    [ "$status" = 1 ] || fault "status $status" "$(cat "$dir/verify")"
    ended "evict"
}

gives_way() {
    local status=0 since
    starts
    since=$SECONDS
    hold big.set
    [ $((SECONDS - since)) -lt 15 ] || fault "a program waited for $((SECONDS - since)) s"
    wait "$caller" || status=$?
    [ "$status" = 5 ] || fault "status $status" "$(cat "$dir/verify")"
    grep -q 'a program wants to write to it' "$dir/verify" || fault "not said" "$(cat "$dir/verify")"
    no_digests || fault "the target still reads"
    release || fault "the program was disturbed" "$(cat "$dir/held")"
}

run_parts made seen by_a_signal by_a_dead_ssh evicted gives_way
