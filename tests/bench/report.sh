#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# report.sh SOURCES BUILD CHECK
#
# Tests the reports of rpmem-bench with the shortest run of every case against a real daemon: JSON,
# which CHECK examines, the table for people, and the preset --table. It fails if a case or a column
# is missing, if figures are implausible, or if the reason of a failed measurement is not reported.
set -eEu
export RPMEM_BENCH_BUILD=$2
export RPMEM_ENABLE_VERBS=0
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
trap 'echo "line $LINENO failed: $BASH_COMMAND; the output was:"; tail -n 30 "$output"/*' ERR

# smallest SOURCES OPTION...: runs the shortest measurement.
smallest() {
    "$1/tools/bench/run" --rounds 2 --time 1 --sizes 8,4K --lanes 1,2 "${@:2}"
}

smallest "$1" --json >"$output/report.json" 2>"$output/error"
"$3" "$output/report.json"
[ ! -s "$output/error" ] # no notes either

# The target of raw TCP must store what it receives. Its file has the mark of the last request.
smallest "$1" --no-spin --cases persist --medium "$output/medium" >"$output/table"
[ "$(od -An -tu1 -j4096 -N1 "$output/medium" | tr -d ' ')" = 1 ]
grep -qx 'RPMEM_SPIN_TIME: 0' "$output/table"
grep -qE '^Benchmark .* Time .* CPU .* best_times_tcp .* p99_us .* tcp_us .* times_tcp' "$output/table"
[ "$(grep -cE '^persist/(strict|relaxed)/(8|4096)/lanes:[12]_median +[0-9.]+ us .*[0-9]$' "$output/table")" = 8 ]

# refused STATUS TEXT COMMAND...: expects this status, and a reason after the name of the program.
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
# Without a connection to the target there are no limits of the network, and a note says why.
grep -q 'note: no limits of the network to target: .*--answer-program' "$output/error"

# The table must have all rows, each with a verdict. The status says whether all are within limits.
status=0
"$1/tools/bench/run" --table --rounds 1 --time 1 >"$output/table" || status=$?
rows=$(grep -cE '^(persist|read|flush|open|idle|refused|away|compare)/.*[0-9]  (pass|FAIL) |^refused.*  no limit ' "$output/table")
case $status in
0) ! grep -q '  FAIL' "$output/table" ;;
3) grep -q '  FAIL' "$output/table" ;;
*) false ;;
esac && [ "$rows" = 33 ] || {
    echo "status $status, $rows rows"
    cat "$output/table"
    exit 1
}

[ "$("$bench" --show-pool-size --cases persist,read --sizes 8,1M --lanes 1,100)" = $((4096 + (100 << 20))) ]
[ "$("$bench" --show-pool-size --cases flush --sizes 64K --lanes 32)" = $((4096 + (128 << 20))) ]
