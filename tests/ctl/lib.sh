# SPDX-License-Identifier: BSD-3-Clause
# Functions for the tests of rpmemctl's verbs. Sourced below with-sshd, with the arguments RPMEMCTL
# RPMEMD JSON_HAS.
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

# run STATUS ARGUMENT...: runs rpmemctl, keeps its output, and expects this status. With --json, the
# manual must describe each member of the output.
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

# is_documented COMMAND: expects each member of the last JSON output in rpmemctl(1).
here=$(dirname "${BASH_SOURCE[0]}")
is_documented() {
    [ ! -s "$dir/output" ] || "$here/json_in_manual" "$here/../../man/rpmemctl.1" "${1%% *}" "$dir/output" ||
        fault "rpmemctl $1: a member of its JSON is not in the manual"
}

# says TEXT...: expects each text in the last output.
says() {
    local text
    for text; do
        grep -qF -- "$text" "$dir/output" "$dir/errors" ||
            fault "not said: $text" "$(cat "$dir/output" "$dir/errors")"
    done
}

# has POINTER=VALUE...: expects these values in the last JSON output.
has() {
    "$json_has" "$dir/output" "$@" || fault "in the JSON above"
}

# force OPTIONS: the key of the tests runs rpmemd with OPTIONS, whatever command a client requests.
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

# hold SET [FILE]: starts a session that holds the pool until the holder's stdin ends, see release. The
# file held has the output that was read from the holder.
# shellcheck disable=SC2154 # hold_pool is the caller's
hold() {
    : >"$dir/held"
    mkfifo "$dir/fifo" "$dir/said"
    "$hold_pool" "$target" "$@" <"$dir/fifo" >"$dir/said" 2>&1 &
    holder=$!
    exec 9>"$dir/fifo" 7<"$dir/said"
    hears open
}

# hears LINE...: waits until the holder has printed each of these lines.
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

# release: ends the holder, and returns its exit status.
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
