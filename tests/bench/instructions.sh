#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# instructions.sh SOURCE_DIR BUILD_DIR PERSISTS
#
# Tests how many instructions of librpmem one persist over TCP takes, with a real daemon.
# Instructions of libc, and of the wrappers in librpmem/uncancelled_calls.cpp, do not count.
# Callgrind counts each persist, and the test uses the minimum: a persist whose answer was there at
# the first poll. Other persists poll again, more often on a busy machine. It fails if a change has
# added instructions beyond the limit to the path of a persist.
set -eu -o pipefail

source_dir=$1
build_dir=$2
persists=$3
# The limit for a strict persist of 64 bytes, including the transport. The goal is 400.
limit=473
count=400

command -v valgrind >/dev/null || {
    echo "skipped: valgrind is not here (Debian package valgrind)"
    exit 77
}

# Prints the sum of the instructions of librpmem.so in the callgrind output $1. Names of objects and
# functions are given once as "(ID) NAME", later as "(ID)". A line of costs is "POSITION COST". The
# line after "calls=" has the cost of the called function, which is counted elsewhere.
own_instructions() {
    awk '
        function name_of(names) {
            match($0, /\([0-9]+\)/)
            id = substr($0, RSTART, RLENGTH)
            rest = substr($0, RSTART + RLENGTH + 1)
            if (rest != "")
                names[id] = rest
            return names[id]
        }
        /^c?ob=/ { object = name_of(objects) }
        /^ob=/ { own = object ~ /librpmem\.so/ }
        /^c?fn=/ { function_name = name_of(functions) }
        /^fn=/ { is_wrapper = function_name ~ /^__wrap_/ }
        /^calls=/ { called = 1; next }
        /^[-+*0-9]/ {
            if (!called && own && !is_wrapper) sum += $2
            called = 0
        }
        END { print sum + 0 }' "$1"
}

# Runs below with-sshd.
measure() {
    printf 'PMEMPOOLSET\n16M %s\n' "$RPMEM_TEST_DIR/counted.part0" >"$RPMEM_TEST_DIR/counted.set"
    # Valgrind runs one thread at a time, so heartbeats may be late.
    RPMEM_CMD=$(printf '%q ' env PMEM_IS_PMEM_FORCE=1 "$build_dir/rpmemd/rpmemd" \
        --poolset-dir "$RPMEM_TEST_DIR" --state-dir "$RPMEM_TEST_DIR/state" \
        --log-file "$RPMEM_TEST_DIR/log" --peer-timeout 300000)
    # Valgrind does not support pidfd_open(2), so the session uses libssh2 instead of ssh.
    export RPMEM_SSH_TRANSPORT=libssh2 RPMEM_SSH_KEY=$RPMEM_TEST_SSHD_DIR/user_key
    export RPMEM_SSH_KNOWN_HOSTS=$RPMEM_TEST_DIR/known_hosts
    printf '[127.0.0.1]:%s %s\n' "$RPMEM_TEST_SSH_PORT" \
        "$(cut -d ' ' -f 1,2 "$RPMEM_TEST_SSHD_DIR/host_key.pub")" >"$RPMEM_SSH_KNOWN_HOSTS"
    export RPMEM_CMD RPMEM_ENABLE_VERBS=0
    valgrind --tool=callgrind --callgrind-out-file="$RPMEM_TEST_DIR/counted.out" \
        --collect-atstart=no --toggle-collect=rpmem_persist --dump-after=rpmem_persist \
        "$persists" "$RPMEM_TEST_TARGET" counted.set 64 "$count" 2>"$RPMEM_TEST_DIR/valgrind" || {
        cat "$RPMEM_TEST_DIR/valgrind"
        return 1
    }
    local each dump
    each=$(for dump in "$RPMEM_TEST_DIR"/counted.out.*; do
        own_instructions "$dump"
    done | sort -n | head -n 1)
    echo "$each instructions of librpmem for a strict persist of 64 bytes; the limit is $limit"
    [ "$each" -gt 50 ] || {
        echo "that cannot be all: was the library's code found in callgrind's output?"
        return 1
    }
    [ "$each" -le "$limit" ]
}

export -f measure own_instructions
export build_dir persists limit count
exec "$source_dir/tests/support/with-sshd" bash -eu -o pipefail -c measure
