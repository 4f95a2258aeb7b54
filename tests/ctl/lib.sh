# SPDX-License-Identifier: BSD-3-Clause
# What the tests of rpmemctl's verbs have in common. Sourced below with-sshd, with the arguments
# RPMEMCTL RPMEMD JSON_HAS.
# shellcheck shell=bash

ctl=$1 daemon=$2 json_has=$3
dir=$RPMEM_TEST_DIR
sets=$dir/sets
target=$RPMEM_TEST_TARGET
failed=0
export RPMEM_ENABLE_VERBS=0 RPMEM_CONNECT_TIMEOUT=30000 TZ=UTC
unset RPMEM_DEVICE
trap "" PIPE
mkdir "$sets"
base="$daemon --config /dev/null --poolset-dir $sets --state-dir $dir/state --log-file $dir/log"
export RPMEM_CMD="$base"

fault() {
    printf '%s\n' "$@"
    failed=$((failed + 1))
}

# run STATUS ARGUMENT...: runs rpmemctl, keeps the output, and compares the status.
run() {
    local wanted=$1 status=0
    shift
    "$ctl" "$@" >"$dir/output" 2>"$dir/errors" </dev/null || status=$?
    [ "$status" = "$wanted" ] ||
        fault "rpmemctl $*: status $status, not $wanted" "$(cat "$dir/output" "$dir/errors")"
}

# says TEXT...: each is in the output of the last one.
says() {
    local text
    for text; do
        grep -qF -- "$text" "$dir/output" "$dir/errors" ||
            fault "not said: $text" "$(cat "$dir/output" "$dir/errors")"
    done
}

# has POINTER=VALUE...: in the JSON that the last one printed.
has() {
    "$json_has" "$dir/output" "$@" || fault "in the JSON above"
}

# force OPTIONS: the key of the tests runs rpmemd with these, whatever is asked for.
keys=$RPMEM_TEST_SSHD_DIR/authorized_keys
cp "$keys" "$dir/key"
force() {
    printf 'restrict,command="%s %s" %s\n' "$base" "$*" "$(cat "$dir/key")" >"$keys"
    export RPMEM_CMD=rpmemd
}

unforce() {
    cp "$dir/key" "$keys"
    export RPMEM_CMD="$base"
}

# has_pool SET: a session that has the pool until stdin of holder ends; see release.
# shellcheck disable=SC2154 # hold_pool is the caller's
hold() {
    local deadline=$((SECONDS + 30))
    rm -f "$dir/held" # of an earlier session
    mkfifo "$dir/fifo"
    "$hold_pool" "$target" "$1" <"$dir/fifo" >"$dir/held" 2>&1 &
    holder=$!
    exec 9>"$dir/fifo"
    until grep -qs open "$dir/held"; do
        [ $SECONDS -lt $deadline ] || { fault "no session" "$(cat "$dir/held")"; break; }
        sleep 0.05 # the program writes to a file, as its output is compared later
    done
}

# Its exit status is that of the program.
release() {
    exec 9>&-
    rm -f "$dir/fifo"
    wait "$holder"
}

run_parts() {
    local part before
    for part; do
        before=$failed
        $part
        [ "$failed" = "$before" ] && echo "ok: $part" || echo "FAILED: $part"
    done
    exit $((failed > 0))
}
