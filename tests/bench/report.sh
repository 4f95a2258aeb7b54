#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report.sh SOURCES BUILD CHECK: the smallest run of every case against a real daemon for programs,
# where CHECK looks at the figures; for people that of persist without spinning; and the preset --table.
set -eEu
export RPMEM_BENCH_BUILD=$2
export RPMEM_ENABLE_VERBS=0
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
trap 'echo "line $LINENO failed: $BASH_COMMAND; the output was:"; tail -n 30 "$output"/*' ERR

# smallest OPTION...
smallest() {
    "$1/tools/bench/run" --rounds 2 --time 1 --sizes 8,4K --lanes 1,2 "${@:2}"
}

smallest "$1" --json >"$output/report.json" 2>"$output/error"
"$3" "$output/report.json"
[ ! -s "$output/error" ] # not even a note

# What the target of raw TCP receives is in its pool: the mark of the last request. In another pool
# than that of persist, on one lane.
smallest "$1" --no-spin --cases persist --medium "$output/medium" >"$output/table"
[ "$(od -An -tu1 -j4096 -N1 "$output/medium" | tr -d ' ')" = 1 ]
grep -qx 'RPMEM_SPIN_TIME: 0' "$output/table"
grep -qE '^Benchmark .* Time .* CPU .* best_times_tcp .* p99_us .* tcp_us .* times_tcp' "$output/table"
[ "$(grep -cE '^persist/(strict|relaxed)/(8|4096)/lanes:[12]_median +[0-9.]+ us .*[0-9]$' "$output/table")" = 8 ]

# refused STATUS TEXT COMMAND...: what cannot be measured is told with a reason, behind the program's name.
refused() {
    local status=0
    "${@:3}" >"$output/table" 2>"$output/error" || status=$?
    [ "$status" = "$1" ] && grep -qE "^rpmem-bench: .*$2" "$output/error" &&
        ! grep -q '/proc/self' "$output/error" || {
        printf '%s: status %s, not %s, or the text does not say: %s\n' "${*:3}" "$status" "$1" "$2"
        cat "$output/error"
        exit 1
    }
}
bench=$2/tools/bench/rpmem-bench
refused 2 nothing "$bench" target bench.set --cases nothing
refused 2 'TARGET and POOLSET' "$bench"
refused 2 '--cases cannot be combined with --table' "$bench" target bench.set --table --cases persist
refused 1 "open/lanes:1: 'ssh target true'" env RPMEM_SSH=false \
    "$bench" target bench.set --cases open --rounds 1
# Without a way to the target there are no limits of the network, and a note says why.
grep -q 'note: no limits of the network to target: .*--answer-program' "$output/error"

# All rows of the table, each with a verdict; the status says whether all are within their limits.
status=0
"$1/tools/bench/run" --table --rounds 1 --time 1 >"$output/table" || status=$?
rows=$(grep -cE '^(persist|read|flush|open|idle|strangers)/.*[0-9]  (pass|FAIL) |^strangers.*  told ' "$output/table")
case $status in
0) ! grep -q '  FAIL' "$output/table" ;;
3) grep -q '  FAIL' "$output/table" ;;
*) false ;;
esac && [ "$rows" = 27 ] || {
    echo "status $status, $rows rows"
    cat "$output/table"
    exit 1
}

[ "$("$bench" --show-pool-size --cases persist,read --sizes 8,1M --lanes 1,100)" = $((4096 + (100 << 20))) ]
[ "$("$bench" --show-pool-size --cases flush --sizes 64K --lanes 32)" = $((4096 + (128 << 20))) ]
