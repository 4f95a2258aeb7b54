# SPDX-License-Identifier: BSD-3-Clause
# Functions for the scenarios with stock clients, Debian's pmempool and libpmemobj. with-sshd runs
# each of them. Sourced by bash.
# shellcheck shell=bash
# shellcheck disable=SC2086,SC2046 # paths of test files hold no blanks
#
# From the environment:
#   RPMEM_CLIENT_LIBDIR   directory of the librpmem.so.1 to use
#   RPMEM_DAEMON          the rpmemd to use
#   RPMEM_WORKLOAD        the program built from workload.c
#   RPMEM_PROVIDER        VARIABLE=VALUE words that choose the fabric provider
#   RPMEM_CLIENT_PRELOAD  a sanitizer's runtime, if the library needs one
#   RPMEM_CLIENT_ENV      more VARIABLE=VALUE words for the client
#   RPMEM_CLIENT_SECONDS  limit of each command, default 90
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

# A sanitizer in the daemon reports to a file, because the output of a daemon that ends is lost.
expect_no_reports() {
    local status=$? report
    for report in "$RPMEM_TEST_DIR"/target*/sanitizer.*; do
        [ -f "$report" ] || continue
        cat "$report" >&2
        status=1
    done
    # A correct session must not need a system call that is denied to a confined one.
    if grep -sF 'confinement: denied' "$RPMEM_TEST_DIR"/target*/rpmemd.log >&2; then
        status=1
    fi
    exit "$status"
}
trap expect_no_reports EXIT

step() {
    printf '== %s (after %s s)\n' "$*" "$SECONDS"
}

# must COMMAND...: expects COMMAND to succeed.
must() {
    local status=0
    "$@" || status=$?
    [ "$status" -eq 0 ] || fail "status $status of: $*"
}

# must_fail COMMAND...: expects COMMAND to fail, but not by a signal or a timeout.
must_fail() {
    local status=0
    "$@" || status=$?
    [ "$status" -ne 0 ] || fail "succeeded, but should not have: $*"
    [ "$status" -lt 124 ] || fail "status $status of: $*"
}

# client COMMAND...: runs COMMAND with our library and a time limit. PMEM_IS_PMEM_FORCE avoids the
# cost of local msync and does not reach the target. Leaks of the stock programs are ignored.
client() {
    # shellcheck disable=SC2086 # lists of words
    env LD_LIBRARY_PATH="$RPMEM_CLIENT_LIBDIR" PMEM_IS_PMEM_FORCE=1 \
        LD_PRELOAD="${RPMEM_CLIENT_PRELOAD:-}" ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
        $RPMEM_PROVIDER ${RPMEM_CLIENT_ENV:-} \
        timeout --kill-after=5 "$CLIENT_SECONDS" "$@"
}

# offline COMMAND...: runs COMMAND without our librpmem and without the cost of msync.
offline() {
    env -u LD_LIBRARY_PATH PMEM_IS_PMEM_FORCE=1 timeout --kill-after=5 "$CLIENT_SECONDS" "$@"
}

workload() {
    client "$RPMEM_WORKLOAD" "$@" --librpmem "$RPMEM_CLIENT_LIBDIR"
}

# wait_until_free: waits until no daemon has the part $replica. The daemon ends the session when it sees
# the end of the ssh channel, a short time later.
wait_until_free() {
    flock --timeout 10 "${replica:?}" true || fail "$replica is still locked after 10 s"
}

# --- targets -------------------------------------------------------------------------------------

# target_make N [VARIABLE=VALUE...] [-- OPTION...]: makes target N with its own pool set directory.
# Prints its command for RPMEM_CMD.
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
    # Clients of protocol 0.1 have no other provider here. The daemon of 1.12.1 has no such option.
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

# expect_log N TEXT: expects TEXT in the log of target N, at level notice.
expect_log() {
    grep -qF -- "$2" "$RPMEM_TEST_DIR/target$1/rpmemd.log" ||
        fail "target $1 did not log '$2'"
}

# expect_lanes N LANES: expects this number of lanes in the last session of target N.
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

# write_pool GEOMETRY: writes $LOCAL/alone.set, and the pool set of target 1 for its replica.
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

# add_remote FROM TO: writes the pool set FROM with one more remote replica to TO.
add_remote() {
    { cat "$1" && echo "REPLICA $RPMEM_TEST_TARGET pool.set"; } >"$2.new"
    mv "$2.new" "$2"
}

# remote_pool GEOMETRY: writes the pool set $pool, and $target, the pool set of its remote replica.
remote_pool() {
    RPMEM_CMD=$(target_make 1)
    export RPMEM_CMD
    write_pool "$1"
    add_remote "$LOCAL/alone.set" "$LOCAL/pool.set"
    # shellcheck disable=SC2034 # the callers use them
    target=$(target_set 1) pool=$LOCAL/pool.set
}

# parts_of SET: prints the local parts in a pool set.
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

# pool_bytes SET: prints the bytes of the pool: all parts without the headers of the later ones.
pool_bytes() {
    local part from=1
    for part in $(parts_of "$1"); do
        tail -c +$from "$part"
        grep -q '^OPTION SINGLEHDR' "$1" || from=4097
    done
}

# --- the bytes on the media ----------------------------------------------------------------------

# These ranges must be equal on both sides after a close. Header pages are not compared.
#   [4096, 6144)   libpmemobj's description of the pool. The rest of that page has addresses of the
#                  process that had the pool open.
#   [8192, heap)   libpmemobj's lanes
#   heap           everything in a pool that was just created or copied, later the live objects.
#                  libpmemobj does not make stale words in free chunks durable.

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

# heap_offset SET: prints the offset of the heap. It is cached, because pmempool needs a session.
heap_offset() {
    [ -s "$LOCAL/heap_offset" ] ||
        client pmempool info "$1" | awk '/^Heap offset/ { print $4 }' >"$LOCAL/heap_offset"
    cat "$LOCAL/heap_offset"
}

# expect_same_objects SET SET EXTENTS: EXTENTS is a file that `workload verify --extents` has
# written.
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

# expect_usable THREADS STEPS SET...: copies the parts into a pool set of local replicas, with the
# first SET as its first replica. Without librpmem, this pool must pass pmempool check, the program
# must find its data, and it must be able to store more.
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

# expect_part_accepted PART: expects pmempool info and check to accept one part of a pool.
expect_part_accepted() {
    local info=$RPMEM_TEST_DIR/info
    must pmempool info "$1" >"$info"
    grep -q '^Signature .*PMEMOBJ' "$info" || fail "pmempool info $1: no PMEMOBJ signature"
    grep -q '^Checksum .*\[OK\]' "$info" || fail "pmempool info $1: bad checksum"
    grep -q '^Last shutdown .*clean' "$info" || fail "pmempool info $1: not closed cleanly"
    must pmempool check "$1"
}
