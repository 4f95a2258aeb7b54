#!/bin/bash
# report.sh SOURCES BUILD CHECK: the smallest run of every case against a real daemon for programs,
# where CHECK looks at the figures; and for people those of persist, spinning and not.
set -eu
export RPMEM_BENCH_BUILD=$2
export RPMEM_ENABLE_VERBS=0
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

# smallest OPTION...
smallest() {
    "$1/tools/bench/run" --rounds 2 --time 1 --sizes 8,4K --lanes 1,2 --range 1M --flushes 4 \
        --idle 1 --open-lanes 2 --open-set bench.set=8K "${@:2}"
}

smallest "$1" --json >"$output/report.json"
"$3" "$output/report.json"

"$2/tools/bench/rpmem-bench" --compare "$output/report.json" "$output/report.json" >"$output/table"
[ "$(grep -c '^| persist strict | 8 B | 1 | .*) µs | .*) µs | tcp_spinning ' "$output/table")" = 1 ]

# split_rows LANES: how many lines of the table end with where their time goes.
split_rows() {
    local part='-?[0-9]+\.[0-9]'
    grep -cE "^persist .* (B|KiB) +$1 .*, medium [0-9.]+ us \(.* \| split: network $part, libfabric $part, medium $part, ours $part us\$" \
        "$output/table" || true
}

smallest "$1" --cases persist >"$output/table"
[ "$(split_rows 1) $(split_rows 2)" = "4 0" ] || {
    cat "$output/table"
    exit 1
}

smallest "$1" --no-spin --cases persist >"$output/table"
if grep 'split:' "$output/table"; then
    echo "limits that spin were taken from what does not"
    exit 1
fi
grep -qx 'setting: RPMEM_SPIN_TIME=0' "$output/table"
[ "$(grep -cE '^persist +(strict|relaxed) +(8 B|4 KiB) +[12] .*tcp_blocking [0-9.]+ us \(' "$output/table")" = 8 ] || {
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
refused 1 'the provider foo does not serve' "$1/tools/bench/run" --cases persist --provider foo \
    --sizes 8 --lanes 1 --rounds 1 --time 1
refused 1 'a second process of rpmem-bench failed' env RPMEM_SSH=true \
    "$bench" target bench.set --cases open --rounds 1
[ "$("$bench" --show-pool-size --cases 'persist, read' --sizes '8, 1M' --lanes '1, 2')" = $((4096 + (2 << 20))) ]
