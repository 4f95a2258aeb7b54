#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# two_hosts.sh SOURCES BUILD
#
# Tests rpmem-bench between two network namespaces. The program that answers raw TCP is started
# through ssh, or cannot be started. It fails if a column is missing or invented, or if the note
# with the reason is missing.
set -eu
export RPMEM_BENCH_BUILD=$2
export RPMEM_ENABLE_VERBS=0
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

# between SOURCES OPTION...: runs the benchmark. Returns 77 if namespaces cannot be created.
between() {
    "$1/tools/bench/run" --two-hosts --rounds 2 --time 1 --sizes 64 --lanes 1 --cases persist,idle \
        "${@:2}" >"$output/table" 2>"$output/error"
}

# expect COUNT PATTERN FILE: expects this number of matching lines.
expect() {
    [ "$(grep -cE "$2" "$output/$3")" = "$1" ] || {
        echo "not $1 times in $3: $2"
        cat "$output/table" "$output/error"
        exit 1
    }
}

status=0
between "$1" || status=$?
[ "$status" != 77 ] || {
    cat "$output/error"
    exit 77
}
[ "$status" = 0 ] || {
    cat "$output/error"
    exit "$status"
}
expect 2 '^persist/(strict|relaxed)/64/lanes:1_median .*[0-9]$' table
expect 1 '^Benchmark .* tcp_us .* times_tcp$' table
expect 1 '^Benchmark .* private_kib' table
expect 1 '^idle/lanes:1 ' table
expect 0 'note' error

between "$1" --answer-program "$output/nothing"
expect 2 '^persist/(strict|relaxed)/64/lanes:1_median ' table
expect 0 'tcp_us|private_kib' table
expect 1 'note: no limits of the network to .*@203\.0\.113\.2:[0-9]+: .*/nothing.*--answer-program' error
