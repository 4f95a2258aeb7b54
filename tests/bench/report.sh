#!/bin/bash
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
    "$1/tools/bench/run" --rounds 2 --time 1 --sizes 8,4K --lanes 1,2 --range 1M --flushes 4 \
        --idle 1 --open-lanes 2 --open-set bench.set=8K "${@:2}"
}

smallest "$1" --json >"$output/report.json"
"$3" "$output/report.json"

"$2/tools/bench/rpmem-bench" --compare "$output/report.json" "$output/report.json" >"$output/table"
[ "$(grep -c '^| persist strict | 8 B | 1 | .*) µs | .*) µs | tcp_spinning ' "$output/table")" = 1 ]

# What the target of the limits receives is in its pool: the mark of the last request.
smallest "$1" --cases limits --medium "$output/medium" >/dev/null
[ "$(od -An -tu1 -j4096 -N1 "$output/medium" | tr -d ' ')" = 1 ]

smallest "$1" --no-spin --cases persist >"$output/table"
grep -qx 'setting: RPMEM_SPIN_TIME=0' "$output/table"
[ "$(grep -cE '^persist +(strict|relaxed) +(8 B|4 KiB) +[12] .*tcp_sleeping [0-9.]+ us \(' "$output/table")" = 8 ] || {
    cat "$output/table"
    exit 1
}

grep -q ' min us median us .* p99.9 us CPU here us CPU there us ' <(tr -s ' ' <"$output/table")

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
refused 2 'TARGET and POOL_SET' "$bench"
refused 2 '--second-pool-set' "$bench" target bench.set --cases replicas
refused 2 '--second-pool-set' "$bench" target bench.set --cases 'read, replicas'
refused 1 'a second process of rpmem-bench failed' env RPMEM_SSH=true \
    "$bench" target bench.set --cases open --rounds 1
refused 2 'excludes' "$bench" target bench.set --table --cases persist

# Without a way to the target there are no limits of the network, and a note says why.
RPMEM_SSH=false "$bench" target bench.set --cases limits --sizes 8 --range 1M --rounds 1 >"$output/table" 2>"$output/error"
grep -q 'note: no limits of the network to target: .*--answer-program' "$output/error"
[ "$(grep -c '^limits .* memcpy ' "$output/table")" = 2 ]

# All rows of the table, each with a verdict; the status says whether all are within their limits.
status=0
"$1/tools/bench/run" --table --rounds 1 --time 1 >"$output/table" || status=$?
rows=$(grep -cE '^(persist|read|flush64|create|open|connect1024|memory|push|pull|strangers) .*(  pass|  FAIL|  told)' "$output/table")
case $status in
0) ! grep -q '  FAIL' "$output/table" ;;
3) grep -q '  FAIL' "$output/table" ;;
*) false ;;
esac && [ "$rows" = 27 ] || {
    echo "status $status, $rows rows"
    cat "$output/table"
    exit 1
}

[ "$("$bench" --show-pool-size --cases 'persist, read' --sizes '8, 1M' --lanes '1, 2')" = $((4096 + (2 << 20))) ]
