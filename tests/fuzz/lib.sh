# SPDX-License-Identifier: BSD-3-Clause
# Starts fuzz targets, for tests/fuzz/run and tests/fuzz/short_run.sh. Sourced by bash with `set
# -eu`. Needs the build directory in $build and the sources in $sources.
# shellcheck shell=bash
: "${build:?}" "${sources:?}"

# An input takes less time than this, also on a busy machine. A slower one would delay a session.
max_input=10     # seconds
# ASan keeps freed memory for a while, so the bound of the process is higher than that of one
# allocation. A decoder must not allocate the size in a field of its input.
max_memory=1024  # MiB
max_allocation=16 # MiB
export ASAN_OPTIONS=quarantine_size_mb=64:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

all_fuzzers() {
    cut -d ' ' -f 1 "$build/tests/fuzz/fuzzers.txt"
}

corpus_of() {
    printf '%s\n' "$build/tests/fuzz/corpora/$1"
}

# start_fuzzer NAME FINDINGS OPTION-OR-PATH...: keeps an input that fails in the directory FINDINGS.
start_fuzzer() {
    local name=$1 findings=$2 words=()
    local max_bytes
    max_bytes=$(sed -n "s/^$name //p" "$build/tests/fuzz/fuzzers.txt")
    shift 2
    [ ! -e "$sources/tests/fuzz/$name.dict" ] || words=("-dict=$sources/tests/fuzz/$name.dict")
    mkdir -p "$findings"
    "$build/tests/fuzz/fuzz_$name" -max_len="$max_bytes" -timeout="$max_input" \
        -rss_limit_mb="$max_memory" -malloc_limit_mb="$max_allocation" \
        -artifact_prefix="$findings/" -print_final_stats=1 "${words[@]}" "$@"
}

# replay_corpus NAME FINDINGS: runs each file once. libFuzzer does not truncate files given by name.
replay_corpus() {
    local files
    mapfile -t files < <(find "$(corpus_of "$1")" -type f | sort)
    [ "${#files[@]}" -gt 0 ] || {
        printf 'there is no corpus in %s\n' "$(corpus_of "$1")" >&2
        return 1
    }
    start_fuzzer "$1" "$2" "${files[@]}"
}
