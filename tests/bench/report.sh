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
    grep -cE "^persist .* (B|KiB) +$1 .*, medium [0-9.]+ \(.* \| split: network $part, libfabric $part, medium $part, ours $part us\$" \
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
[ "$(grep -cE '^persist +(strict|relaxed) +(8 B|4 KiB) +[12] .*tcp_blocking [0-9.]+ \(' "$output/table")" = 8 ] || {
    cat "$output/table"
    exit 1
}

# What cannot be measured is told, with a reason, and nothing is left on the target.
if "$1/tools/bench/run" --cases nothing 2>"$output/error"; then
    echo "a case that does not exist was measured"
    exit 1
fi
grep -q nothing "$output/error"
