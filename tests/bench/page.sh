#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# page.sh RPMEM_BENCH DATA: the page of --report, made from two reports of DATA, as a program reads it, and
# what is refused.
set -eEu
bench=$1
data=$2
here=$(dirname "$(readlink -f "$0")")
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
trap 'echo "line $LINENO failed: $BASH_COMMAND"; cat "$output/error"' ERR
: >"$output/error"

"$bench" --from "$data/ours.json" --against "$data/other.json" --report "$output/both.html"
/usr/bin/python3 "$here/check_page.py" "$output/both.html" "$data/ours.json" "$data/other.json"
"$bench" --from "$data/ours.json" --report "$output/one.html"
/usr/bin/python3 "$here/check_page.py" "$output/one.html" "$data/ours.json"

# What stands in a report is text in the page, and what cannot be drawn is left out.
cat >"$output/odd.json" <<'END'
{"context": {"host_name": "<script>alert(1)</script>&\u0001\"", "list": [1]},
 "benchmarks": [1, {"run_name": "<b>/8/lanes:1", "real_time": 1, "gigabytes_per_second": 1},
  {"run_name": "persist/strict/99999999999999999999/lanes:1", "real_time": 1, "gigabytes_per_second": 1},
  {"run_name": "persist/strict/8/lanes:1", "real_time": -1, "gigabytes_per_second": 1},
  {"run_name": "persist/strict/16/lanes:1", "real_time": 1e308, "gigabytes_per_second": 1e-300, "tcp_us": "x"},
  {"run_name": "persist/strict/32/lanes:3", "real_time": 7, "gigabytes_per_second": 1, "p50_us": 7},
  {"run_name": 5}]}
END
"$bench" --from "$output/odd.json" --report "$output/odd.html"
/usr/bin/python3 "$here/check_page.py" "$output/odd.html" "$output/odd.json"
grep -qF '&lt;script&gt;alert(1)&lt;/script&gt;&amp; &quot;' "$output/odd.html"

echo '{"context": {}, "benchmarks": []}' >"$output/empty.json"
"$bench" --from "$output/empty.json" --report "$output/empty.html"
/usr/bin/python3 "$here/check_page.py" "$output/empty.html" "$output/empty.json"

# refused STATUS TEXT OPTION...
refused() {
    local status=0
    "$bench" "${@:3}" >/dev/null 2>"$output/error" || status=$?
    [ "$status" = "$1" ] && grep -qE "^rpmem-bench: .*$2" "$output/error"
}
echo '{"benchmarks": 5}' >"$output/wrong.json"
refused 1 'cannot open .*missing.json: No such file' --from "$output/missing.json" --report "$output/no.html"
refused 1 'wrong.json is no report' --from "$output/wrong.json" --report "$output/no.html"
refused 1 'page.sh is no report' --from "$0" --report "$output/no.html"
refused 1 'wrong.json is no report' --from "$data/ours.json" --against "$output/wrong.json" --report "$output/no.html"
refused 1 'cannot write /nonexistent/page' --from "$data/ours.json" --report /nonexistent/page
# A limit of the size of files is an error, and no signal: the shell would report 153.
(ulimit -f 1; refused 1 'cannot write .*large.html' --from "$data/ours.json" --report "$output/large.html")
status=0
"$bench" --version >/dev/full 2>"$output/error" || status=$?
[ "$status" = 1 ] && grep -q 'cannot write to standard output' "$output/error"
refused 1 'cannot write /nonexistent/page' target bench.set --report /nonexistent/page # before it measures
refused 2 'requires --report' --from "$data/ours.json"
refused 2 'requires --report' target bench.set --against "$data/ours.json"
