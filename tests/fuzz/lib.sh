# SPDX-License-Identifier: BSD-3-Clause
# What tests/fuzz/run and tests/fuzz/short_run.sh have in common: how a fuzz target is started.
# Sourced; needs bash with `set -eu`, the build directory in $build, and the sources in $sources.
# shellcheck shell=bash
: "${build:?}" "${sources:?}"

# Also on a busy machine an input takes less. What takes longer would keep a session waiting.
max_input=10     # seconds
# ASan keeps freed memory for a while. The process has a bound above that, and one allocation a
# lower one: no decoder may be made to allocate what a size field says.
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

# start_fuzzer NAME FINDINGS OPTION-OR-PATH...: an input that fails is left in the directory FINDINGS.
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

# replay_corpus NAME FINDINGS: each file by itself, as it is: files given by name are not cut.
replay_corpus() {
    local files
    mapfile -t files < <(find "$(corpus_of "$1")" -type f | sort)
    [ "${#files[@]}" -gt 0 ] || {
        printf 'there is no corpus in %s\n' "$(corpus_of "$1")" >&2
        return 1
    }
    start_fuzzer "$1" "$2" "${files[@]}"
}
