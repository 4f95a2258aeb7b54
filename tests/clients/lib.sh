# SPDX-License-Identifier: BSD-3-Clause
# What the scenarios with stock clients share. Each is run by tests/support/with-sshd; they use
# Debian's own pmempool and libpmemobj. Sourced by bash.
# shellcheck shell=bash
# shellcheck disable=SC2086,SC2046 # paths of test files hold no blanks
#
# From the environment:
#   RPMEM_CLIENT_LIBDIR   directory of the librpmem.so.1 to use
#   RPMEM_DAEMON          the rpmemd to use
#   RPMEM_WORKLOAD        the program made from workload.c
#   RPMEM_PROVIDER        VARIABLE=VALUE words that choose the fabric provider
#   RPMEM_CLIENT_PRELOAD  a sanitizer's runtime, if the library needs one
#   RPMEM_CLIENT_ENV      more VARIABLE=VALUE words for the client
#   RPMEM_CLIENT_SECONDS  limit of each call (90)
set -u

: "${RPMEM_CLIENT_LIBDIR:?}" "${RPMEM_DAEMON:?}" "${RPMEM_WORKLOAD:?}"
: "${RPMEM_TEST_DIR:?run this with tests/support/with-sshd}"
RPMEM_PROVIDER=${RPMEM_PROVIDER-RPMEM_ENABLE_SOCKETS=1 RPMEM_ENABLE_VERBS=0}
LOCAL=$RPMEM_TEST_DIR/local
CLIENT_SECONDS=${RPMEM_CLIENT_SECONDS:-90}
mkdir -p "$LOCAL"

# shellcheck source=tests/clients/remote_replicas.sh
. "$(dirname "${BASH_SOURCE[0]}")/remote_replicas.sh"
if reason=$(remote_replicas_refused); then
    printf 'skipped: %s\n' "$reason"
    exit 77
fi

fail() {
    local log
    printf 'FAILED: %s\n' "$*" >&2
    for log in "$RPMEM_TEST_DIR"/target*/rpmemd.log; do
        [ -f "$log" ] || continue
        printf -- '--- %s, last lines\n' "$log" >&2
        tail -n 60 "$log" >&2
    done
    exit 1
}

# A sanitizer in the daemon reports to a file: what it prints at its end nobody would read.
expect_no_reports() {
    local status=$? report
    for report in "$RPMEM_TEST_DIR"/target*/sanitizer.*; do
        [ -f "$report" ] || continue
        cat "$report" >&2
        status=1
    done
    # Nor does an honest session need a system call that a confined one has not.
    if grep -sF 'confinement: denied' "$RPMEM_TEST_DIR"/target*/rpmemd.log >&2; then
        status=1
    fi
    exit "$status"
}
trap expect_no_reports EXIT

step() {
    printf '== %s (after %s s)\n' "$*" "$SECONDS"
}

# must COMMAND...: it has to succeed.
must() {
    local status=0
    "$@" || status=$?
    [ "$status" -eq 0 ] || fail "status $status of: $*"
}

# must_fail COMMAND...: it has to fail by itself; neither a signal nor a timeout will do.
must_fail() {
    local status=0
    "$@" || status=$?
    [ "$status" -ne 0 ] || fail "succeeded, but should not have: $*"
    [ "$status" -lt 124 ] || fail "status $status of: $*"
}

# client COMMAND...: with our library, a limit of time, and without the cost of local msync (the
# variable does not reach the target). Leaks of the stock programs are not ours.
client() {
    # shellcheck disable=SC2086 # lists of words
    env LD_LIBRARY_PATH="$RPMEM_CLIENT_LIBDIR" PMEM_IS_PMEM_FORCE=1 \
        LD_PRELOAD="${RPMEM_CLIENT_PRELOAD:-}" ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
        $RPMEM_PROVIDER ${RPMEM_CLIENT_ENV:-} \
        timeout --kill-after=5 "$CLIENT_SECONDS" "$@"
}

# offline COMMAND...: without any librpmem, and without the cost of msync.
offline() {
    env -u LD_LIBRARY_PATH PMEM_IS_PMEM_FORCE=1 timeout --kill-after=5 "$CLIENT_SECONDS" "$@"
}

workload() {
    client "$RPMEM_WORKLOAD" "$@" --librpmem "$RPMEM_CLIENT_LIBDIR"
}

# --- targets -------------------------------------------------------------------------------------

# target_make N [VARIABLE=VALUE...] [-- OPTION...]: a target with a pool set directory of its own.
# Its command is printed, ready for RPMEM_CMD.
target_make() {
    local dir=$RPMEM_TEST_DIR/target$1 words='' variable
    shift
    mkdir -p "$dir/sets" "$dir/parts"
    for variable in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do
        words+="$variable='${!variable:-}:log_path=$dir/sanitizer' "
    done
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        words+="$1 "
        shift
    done
    [ $# -eq 0 ] || shift
    # Clients that speak protocol 0.1 have no other provider here; 1.12.1's daemon has no such option.
    if "$RPMEM_DAEMON" --help 2>&1 | grep -q -e --sockets; then
        set -- --sockets "$@"
    fi
    if "$RPMEM_DAEMON" --help 2>&1 | grep -q -e --state-dir; then
        set -- --state-dir "$dir/state" "$@"
    fi
    printf "%s'%s' --poolset-dir %s --log-file %s --log-level notice%s" "$words" "$RPMEM_DAEMON" \
        "$dir/sets" "$dir/rpmemd.log" "${*:+ $*}"
}

target_set() {
    printf '%s\n' "$RPMEM_TEST_DIR/target$1/sets/pool.set"
}

# expect_log N TEXT: a line of the target's log at level notice.
expect_log() {
    grep -qF -- "$2" "$RPMEM_TEST_DIR/target$1/rpmemd.log" ||
        fail "target $1 did not log '$2'"
}

# expect_lanes N LANES: what the last session of the target had in force.
expect_lanes() {
    local last
    last=$(grep -oE '(nlanes: [0-9]+$|[0-9]+ lanes)' "$RPMEM_TEST_DIR/target$1/rpmemd.log" |
        tail -n 1 | grep -oE '[0-9]+')
    [ "$last" = "$2" ] || fail "target $1 had ${last:-no} lanes, expected $2"
}

# --- pool sets -----------------------------------------------------------------------------------

# write_set FILE OPTION SIZE:PATH...; OPTION may be empty.
write_set() {
    local file=$1 option=$2 part
    shift 2
    {
        echo PMEMPOOLSET
        [ -z "$option" ] || echo "OPTION $option"
        for part in "$@"; do
            echo "${part%%:*} ${part#*:}"
        done
    } >"$file"
}

# write_pool GEOMETRY: $LOCAL/alone.set, and the pool set of target 1 that can hold its replica.
write_pool() {
    local parts=$RPMEM_TEST_DIR/target1/parts option=
    case $1 in
    single)
        write_set "$LOCAL/alone.set" '' "32M:$LOCAL/part0"
        write_set "$(target_set 1)" '' "32M:$parts/part0"
        return
        ;;
    multi) ;;
    singlehdr) option=SINGLEHDR ;;
    *) fail "unknown geometry '$1'" ;;
    esac
    write_set "$LOCAL/alone.set" "$option" "20M:$LOCAL/part0" "12M:$LOCAL/part1"
    write_set "$(target_set 1)" "$option" \
        "9M:$parts/part0" "11M:$parts/part1" "14M:$parts/part2"
}

# add_remote FROM TO: the pool set FROM with a remote replica more, as TO.
add_remote() {
    { cat "$1" && echo "REPLICA $RPMEM_TEST_TARGET pool.set"; } >"$2.new"
    mv "$2.new" "$2"
}

# remote_pool GEOMETRY: the pool set $pool, which has its replica by $target on target 1.
remote_pool() {
    RPMEM_CMD=$(target_make 1)
    export RPMEM_CMD
    write_pool "$1"
    add_remote "$LOCAL/alone.set" "$LOCAL/pool.set"
    # shellcheck disable=SC2034 # they are the callers'
    target=$(target_set 1) pool=$LOCAL/pool.set
}

# parts_of SET: the local parts that a pool set names.
parts_of() {
    awk '/^[0-9]/ { print $2 }' "$1"
}

expect_parts() {
    local part
    for part in $(parts_of "$1"); do
        [ -f "$part" ] || fail "$part is missing"
    done
}

expect_no_parts() {
    local part
    for part in $(parts_of "$1"); do
        [ ! -e "$part" ] || fail "$part is still there"
    done
}

# pool_bytes SET: the pool that the parts make up, one after another without their headers.
pool_bytes() {
    local part from=1
    for part in $(parts_of "$1"); do
        tail -c +$from "$part"
        grep -q '^OPTION SINGLEHDR' "$1" || from=4097
    done
}

# --- what is on the media ------------------------------------------------------------------------

# What must be equal on both sides after a close, header pages left out:
#   [4096, 6144)   libpmemobj's description of the pool; the rest of that page holds addresses of
#                  the process that had it open
#   [8192, heap)   the lanes
#   heap           everything in a pool just made or just copied; later the live objects (free
#                  chunks keep stale words that libpmemobj has no reason to make durable)

images_make() {
    pool_bytes "$1" >"$RPMEM_TEST_DIR/image1"
    pool_bytes "$2" >"$RPMEM_TEST_DIR/image2"
    must cmp -i 4096 -n 2048 "$RPMEM_TEST_DIR"/image[12]
}

# expect_same_bytes SET SET
expect_same_bytes() {
    local size
    images_make "$1" "$2"
    size=$(stat -c %s "$RPMEM_TEST_DIR"/image[12] | sort -n | head -n 1)
    [ "$size" -gt $((8 << 20)) ] || fail "$1 and $2: only $size bytes to compare"
    must cmp -i 8192 -n $((size - 8192)) "$RPMEM_TEST_DIR"/image[12]
    rm -f "$RPMEM_TEST_DIR"/image[12]
}

# heap_offset SET: asked once, as it takes a session with the target.
heap_offset() {
    [ -s "$LOCAL/heap_offset" ] ||
        client pmempool info "$1" | awk '/^Heap offset/ { print $4 }' >"$LOCAL/heap_offset"
    cat "$LOCAL/heap_offset"
}

# expect_same_objects SET SET EXTENTS: EXTENTS as `workload verify --extents` writes them.
expect_same_objects() {
    local heap offset size count=0
    heap=$(heap_offset "$1")
    images_make "$1" "$2"
    must cmp -i 8192 -n $((${heap:-0} - 8192)) "$RPMEM_TEST_DIR"/image[12]
    while read -r offset size; do
        must cmp -i "$offset" -n "$size" "$RPMEM_TEST_DIR"/image[12]
        count=$((count + 1))
    done <"$3"
    [ "$count" -gt 1 ] || fail "no objects to compare in $3"
    rm -f "$RPMEM_TEST_DIR"/image[12]
}

# expect_usable THREADS STEPS SET...: copies of the parts, in the order of the replicas with any
# one in front, are a good pool also for those who know nothing of remote replicas: it passes the
# check, the program finds its data, and the heap takes more of it.
expect_usable() {
    local threads=$1 steps=$2 scratch=$RPMEM_TEST_DIR/scratch set part count=0 option more
    shift 2
    mkdir "$scratch"
    option=$(grep '^OPTION' "$1")
    printf 'PMEMPOOLSET\n%s\n' "$option" >"$scratch/pool.set"
    for set in "$@"; do
        [ "$count" -eq 0 ] || echo REPLICA >>"$scratch/pool.set"
        for part in $(parts_of "$set"); do
            count=$((count + 1))
            cp --sparse=always "$part" "$scratch/part$count"
            echo "$(stat -c %s "$part") $scratch/part$count" >>"$scratch/pool.set"
        done
    done
    sed -i 's/^\([0-9]*\) /\1B /' "$scratch/pool.set"
    must offline pmempool check "$scratch/pool.set"
    must offline pmempool info "$scratch/pool.set" >"$scratch/info"
    for more in 0 10; do
        must offline "$RPMEM_WORKLOAD" run "$scratch/pool.set" \
            --threads "$threads" --steps $more
        must offline "$RPMEM_WORKLOAD" verify "$scratch/pool.set" \
            --threads "$threads" --steps $((steps + more))
    done
    rm -rf "$scratch"
}

# expect_part_accepted PART: pmempool info and check of one part of a pool.
expect_part_accepted() {
    local info=$RPMEM_TEST_DIR/info
    must pmempool info "$1" >"$info"
    grep -q '^Signature .*PMEMOBJ' "$info" || fail "pmempool info $1: no PMEMOBJ signature"
    grep -q '^Checksum .*\[OK\]' "$info" || fail "pmempool info $1: bad checksum"
    grep -q '^Last shutdown .*clean' "$info" || fail "pmempool info $1: not closed cleanly"
    must pmempool check "$1"
}
