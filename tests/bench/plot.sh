#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plot.sh SOURCES
#
# Tests tools/bench/plot with recorded reports: one report, two reports, and one with a single case.
# It fails if a title or a line is missing in the SVG, or if a file that is not a report is
# accepted.
set -eu -o pipefail
/usr/bin/python3 -c 'import matplotlib' 2>/dev/null || {
    echo "skipped: python3-matplotlib is not installed"
    exit 77
}
plot=$1/tools/bench/plot data=$1/tests/data/bench
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
export MPLCONFIGDIR=$output

fault() {
    echo "$*" >&2
    exit 1
}

# has FILE COUNT TEXT: expects TEXT this number of times. matplotlib also writes each text as a
# comment.
has() {
    local found
    found=$(grep -cF -- "<!-- $3 -->" "$1") || true
    [ "$found" = "$2" ] || fault "${1##*/}: '$3' stands there $found times, not $2"
}

"$plot" "$data/ours.json" -o "$output/one.svg"
for operation in persist/strict persist/relaxed read flush/strict flush/relaxed; do
    has "$output/one.svg" 1 "$operation, 1 lane"
    has "$output/one.svg" 3 "$operation" # the throughput, and a line in each of two pictures
done
has "$output/one.svg" 1 'Ours by raw TCP, 1 lane'
has "$output/one.svg" 1 'Ours by raw TCP, 4 KiB'
has "$output/one.svg" 0 'other report'

"$plot" "$data/ours.json" "$data/other.json" -o "$output/two.svg"
has "$output/two.svg" 1 'Other report by ours, 1 lane'
has "$output/two.svg" 1 'Other report by ours, 4 KiB'
has "$output/two.svg" 3 'other report' # three operations are in both reports

/usr/bin/python3 - "$data/ours.json" "$output/single.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
report["benchmarks"] = [row for row in report["benchmarks"] if row["run_name"] == "read/8/lanes:1"]
json.dump(report, open(sys.argv[2], "w"))
END
"$plot" "$output/single.json" -o "$output/single.png"
[ "$(head -c 4 "$output/single.png" | tail -c 3)" = PNG ] || fault "single.png is not a PNG"

# refused TEXT ARGUMENT...: expects plot to fail with TEXT.
refused() {
    local text=$1
    shift
    ! "$plot" "$@" 2>"$output/error" || fault "accepted: $*"
    grep -q "$text" "$output/error" || fault "$*: $(cat "$output/error")"
}
echo '{"benchmarks": 3}' >"$output/wrong.json"
echo '{"benchmarks": []}' >"$output/empty.json"
refused 'No such file' "$output/missing.json" -o "$output/no.png"
refused 'not a report' "$output/wrong.json" -o "$output/no.png"
refused 'not a report' "$0" -o "$output/no.png"
refused 'has no case' "$output/empty.json" -o "$output/no.png"
refused 'not a report' "$data/ours.json" "$output/wrong.json" -o "$output/no.png"
refused 'neither in .png nor in .svg' "$data/ours.json" -o "$output/no.pdf"
refused 'No such file' "$data/ours.json" -o /nonexistent/no.png
