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
    case "$* " in
    bench\ *) ;; # rpmem-bench(1) describes its members
    *' --json '*) is_documented "$*" ;;
    esac
}

# is_documented COMMAND: rpmemctl(1) has each member of the JSON that the last one printed.
here=$(dirname "${BASH_SOURCE[0]}")
is_documented() {
    [ ! -s "$dir/output" ] || "$here/json_in_manual" "$here/../../man/rpmemctl.1" "${1%% *}" "$dir/output" ||
        fault "rpmemctl $1: a member of its JSON is not in the manual"
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

# hold SET: a session that has the pool until stdin of holder ends; see release. Its output is in the
# file held, as far as it has been read.
# shellcheck disable=SC2154 # hold_pool is the caller's
hold() {
    : >"$dir/held"
    mkfifo "$dir/fifo" "$dir/said"
    "$hold_pool" "$target" "$1" <"$dir/fifo" >"$dir/said" 2>&1 &
    holder=$!
    exec 9>"$dir/fifo" 7<"$dir/said"
    hears open
}

# hears LINE...: waits for each of these lines of the holder.
hears() {
    local awaited line
    for awaited; do
        line=
        until [ "$line" = "$awaited" ]; do
            IFS= read -r -t 30 line <&7 || { fault "no '$awaited'" "$(cat "$dir/held")"; return; }
            echo "$line" >>"$dir/held"
        done
    done
}

# Its exit status is that of the program.
release() {
    exec 9>&-
    cat <&7 >>"$dir/held"
    exec 7<&-
    rm -f "$dir/fifo" "$dir/said"
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
