#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh RPMEMCTL RPMEMD POOLS FIRST_WRITE PART
#
# Tests large pools, many lanes and many sessions with real daemons, below with-sshd. It fails if
# memory, descriptors, threads or the time to open exceed generous bounds, if bytes are wrong, or if
# sessions do not come back after a loss. The last line is a row of the table in docs/operations.md.
set -u
ctl=$1 daemon=$2 pools=$3 first_write=$4
dir=$RPMEM_TEST_DIR
sets=$dir/sets
target=$RPMEM_TEST_TARGET
mebibyte=$((1 << 20))
gibibyte=$((1 << 30))
# A login, a sync or a list of all sessions may take this long on a busy machine. It is not a bound
# that is tested.
max_wait=900

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

fault() {
    printf '%s\n' "$*"
    tail -n 20 "$dir/held" "$dir/log" "$dir"/library.log 2>/dev/null
    exit 1
}

# at_most WHAT VALUE BOUND: fails if VALUE exceeds BOUND.
at_most() {
    [ "$2" -le "$3" ] || fault "$1: $2, and $3 are allowed"
}

# --- targets and pools -----------------------------------------------------------------------------

# prepare: the daemon has default settings except for paths. It leaves a file named after its
# process id.
prepare() {
    mkdir "$sets" "$dir/parts" "$dir/pids"
    printf '#!/bin/sh\n: >%s/pids/$$\nexec %s --config /dev/null --poolset-dir %s --state-dir %s "$@"\n' \
        "$dir" "$daemon" "$sets" "$dir/state --log-file $dir/log --log-level notice" >"$dir/rpmemd"
    chmod 755 "$dir/rpmemd"
    export RPMEM_CMD=$dir/rpmemd RPMEM_LOG_FILE=$dir/library.log RPMEM_LOG_LEVEL=2
    export RPMEM_CONNECT_TIMEOUT=${max_wait}000 RPMEM_RECONNECT_TIMEOUT=${max_wait}000
}

# require_space GIBIBYTES: skips the test if there is less space.
require_space() {
    [ "$(df --output=avail -k "$dir" | tail -n 1)" -ge $(($1 << 20)) ] ||
        skip "$dir has less than $1 GiB free"
}

# write_sets COUNT SIZE [OPTION]: writes pool0.set and so on, with one part each.
write_sets() {
    local number
    for ((number = 0; number < $1; number++)); do
        printf 'PMEMPOOLSET\n%s%s %s/parts/pool%s\n' "${3:+OPTION $3$'\n'}" "$2" "$dir" "$number" \
            >"$sets/pool$number.set"
    done
}

# --- the program -----------------------------------------------------------------------------------

# await TEXT: waits for a line of the program's output. It polls, because the output is a file.
await() {
    local deadline=$((SECONDS + max_wait))
    until grep -q "^$1" "$dir/held"; do
        kill -0 "$program" 2>/dev/null || fault "the program has ended"
        [ $SECONDS -lt $deadline ] || fault "the program did not say: $1"
        sleep 0.1
    done
}

# start create|open COUNT SIZE LANES [fill|check]: starts the program, and waits until all lanes are
# used.
start() {
    rm -f "$dir/fifo" "$dir"/pids/*
    mkfifo "$dir/fifo"
    "$pools" "$1" "$target" pool "${@:2}" <"$dir/fifo" >"$dir/held" 2>&1 &
    program=$!
    exec 9>"$dir/fifo"
    await ready
}

# finish: makes the program compare the bytes of its lanes and close the pools.
finish() {
    exec 9>&-
    wait "$program" || fault "the program failed"
    grep -qx closed "$dir/held" || fault "the program said nothing of its end"
}

# said NAME: prints the last number of this name in the program's output.
said() {
    awk -v name="$1" '$1 == name { value = $2 } END { print value }' "$dir/held"
}

# --- measurements
# ----------------------------------------------------------------------------------

# private_kib PID: prints the size of its private pages, without those of the pool.
private_kib() {
    awk -v parts="$dir/parts/" '
        /^[0-9a-f]+-[0-9a-f]+ / { counts = index($0, parts) == 0 && $6 != "/memfd:pool" }
        /^Private_/ && counts { sum += $2 }
        END { print sum + 0 }' "/proc/$1/smaps"
}

descriptors() {
    find "/proc/$1/fd" -mindepth 1 | wc -l
}

threads() {
    find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l
}

# daemons: prints the running daemons.
daemons() {
    local file
    for file in "$dir"/pids/*; do
        [ "$(cat "/proc/${file##*/}/comm" 2>/dev/null)" != rpmemd ] || echo "${file##*/}"
    done
}

# most FUNCTION PID...: prints the largest result of FUNCTION for these processes.
most() {
    local pid
    for pid in "${@:2}"; do "$1" "$pid"; done | sort -n | tail -n 1
}

# log_lines: prints the number of lines per session in the daemon's log. Warnings are not permitted.
log_lines() {
    ! grep -E '\] (warning|error|critical): ' "$dir/log" || fault "the daemon warns"
    [ ! -s "$dir/library.log" ] || fault "the library warns"
    echo $(($(wc -l <"$dir/log") / $(grep -c ', provider tcp, port ' "$dir/log")))
}

kib_text() {
    awk -v kib="$1" 'BEGIN { printf "%.1f MiB", kib / 1024 }'
}

seconds_text() {
    awk -v ms="$1" 'BEGIN { if (ms < 1000) printf "%d ms", ms; else printf "%.1f s", ms / 1000 }'
}

# measure COUNT: expects this number of daemons, and measures them and the program.
measure() {
    local all
    mapfile -t all < <(daemons)
    [ ${#all[@]} -eq "$1" ] || fault "${#all[@]} daemons live, not $1"
    daemon_kib=$(most private_kib "${all[@]}")
    daemon_descriptors=$(most descriptors "${all[@]}")
    daemon_threads=$(most threads "${all[@]}")
    program_kib=$(private_kib "$program")
    program_descriptors=$(descriptors "$program")
}

# row WHAT OPENING: prints a row of the table.
row() {
    printf '| %s | %s | %s | %s, %s, %s | %s, %s | %s |\n' "$1" "$2" "$(seconds_text "$(said connect_ms)")" \
        "$(kib_text "$daemon_kib")" "$daemon_descriptors" "$daemon_threads" \
        "$(kib_text "$program_kib")" "$program_descriptors" "$(log_lines)"
}

# --- the parts -------------------------------------------------------------------------------------

# A pool is written completely, and read completely by another session. The daemon must not keep a
# part of it in its own memory.
ten_gigabytes() {
    local size=$((10 * gibibyte)) opening filling
    require_space 15
    write_sets 1 10G
    start create 1 "$size" 4 fill
    opening=$(said all_open_ms) filling=$(said fill_ms)
    measure 1
    at_most "KiB of the daemon" "$daemon_kib" $((8 << 10))
    finish
    start open 1 "$size" 4 check
    measure 1
    at_most "KiB of the daemon" "$daemon_kib" $((8 << 10))
    at_most "ms to open" "$(said all_open_ms)" 10000
    finish
    echo "created within $opening ms, written within $filling ms, read within $(said check_ms) ms"
    row "10 GiB, 4 lanes" "$(seconds_text "$opening"), then $(seconds_text "$(said all_open_ms)")"
}

# The pool is a hole except for the ranges of the lanes at its end.
terabyte() {
    local size=$((1024 * gibibyte))
    truncate -s "$size" "$dir/parts/pool0" || skip "this file system has no files of 1 TiB"
    write_sets 1 1024G NOHDRS
    start open 1 "$size" 4
    measure 1
    at_most "KiB of the daemon" "$daemon_kib" $((8 << 10))
    at_most "ms to open" "$(said all_open_ms)" 10000
    echo >&9 # write other bytes than a file of zeros has
    await again_ms
    finish
    tail -c 256 "$dir/parts/pool0" >"$dir/last"
    at_most "KiB of the disk" "$(du -k "$dir/parts/pool0" | cut -f1)" 1024
    at_most "zeros at the end of the part" "$(tr -d '\1-\377' <"$dir/last" | wc -c)" 128
    "$ctl" info "$target" pool0.set >"$dir/info" 2>&1 || fault "rpmemctl info: $(cat "$dir/info")"
    row "1 TiB, sparse, NOHDRS, 4 lanes" "$(seconds_text "$(said all_open_ms)")"
}

# first_write: writes to the pool in a session of its own, and waits for the end of its daemon.
first_write() {
    "$first_write" map "$dir/local" "$target" pool0.set >"$dir/first_write" 2>&1 ||
        fault "the first write: $(cat "$dir/first_write")"
    flock --timeout 60 "$dir/parts/pool0" true || fault "the daemon still has the pool"
}

# The first write compares the pool with its replica, and both are files with few data. Neither end
# may read the holes: each page of a hole that is read takes memory.
comparison() {
    local size=$((100 * gibibyte)) piece cached before
    require_space 4
    truncate -s "$size" "$dir/local" "$dir/parts/pool0" || skip "this file system has no files of 100 GiB"
    for ((piece = 0; piece < 16; piece++)); do
        dd if=/dev/urandom of="$dir/local" bs=1M count=64 seek=$((piece * 6400)) conv=notrunc status=none ||
            fault "no data"
    done
    cp --sparse=always "$dir/local" "$dir/parts/pool0" || fault "no copy"
    write_sets 1 100G NOHDRS
    export XDG_STATE_HOME=$dir/home RPMEM_EQUALIZE=yes
    first_write # so that this machine has a record
    "${0%/*}/../ctl/catch_up" "$dir/parts/pool0" 1700000000 || fault "the record cannot be changed"
    : >"$dir/library.log"
    first_write
    piece=$(sed -nE 's/.*the replica is equal again: .* in ([0-9]+) ms$/\1/p' "$dir/library.log")
    [ -n "$piece" ] || fault "nothing was compared"
    at_most "ms to compare 100 GiB with 1 GiB of data" "$piece" "${RPMEM_TEST_COMPARISON_MS:-60000}"
    cached=$(fincore --bytes --noheadings --output res "$dir/local" | tr -d ' ')
    before=$(du -B1 "$dir/local" | cut -f1)
    [ -z "$cached" ] || at_most "bytes of the local file in the page cache" "$cached" $((before + 64 * mebibyte))
    echo "100 GiB with 1 GiB of data: compared within $piece ms; $((cached / mebibyte)) MiB are cached"
}

lanes() {
    local count=1024
    write_sets 1 64M
    # This is the limit of the program. The daemon raises its own limit.
    ulimit -S -n 4096 || skip "this user may not have 4096 descriptors"
    start create 1 $((64 * mebibyte)) $count
    measure 1
    at_most "KiB of the daemon" "$daemon_kib" $(((4 << 10) + count * 16))
    at_most "descriptors of the daemon" "$daemon_descriptors" $((count + 64))
    at_most "descriptors of the program" "$program_descriptors" $((count + 64))
    at_most "threads of the daemon" "$daemon_threads" $(($(nproc) + 3))
    echo "64 bytes persisted on each lane, one after the other, within $(said use_ms) ms"
    finish
    row "64 MiB, 1024 lanes" "$(seconds_text "$(said all_open_ms)")"
}

# Many sessions: their resources, the list of rpmemctl, and whether all of them come back.
sessions() {
    local count=200 creating
    require_space 4
    write_sets $count 4M
    ulimit -S -n 4096 || skip "this user may not have 4096 descriptors"
    start create $count $((4 * mebibyte)) 1
    creating=$(said all_open_ms)
    measure $count
    at_most "KiB of a daemon" "$daemon_kib" $((6 << 10))
    at_most "descriptors of a daemon" "$daemon_descriptors" 48
    at_most "descriptors of the program" "$program_descriptors" $((count * 16))
    row "200 sessions of 4 MiB, 1 lane" "$(seconds_text "$creating") for all"
    list_sessions $count
    come_back $count 1
    come_back_past_limit $count
    finish
    start open $count $((4 * mebibyte)) 1
    echo "opened within $(said all_open_ms) ms"
    truncate_one
    kill "$program"
}

# list_sessions COUNT: expects rpmemctl sessions to list this number.
list_sessions() {
    local began listed
    began=${EPOCHREALTIME/./}
    "$ctl" sessions "$target" --json >"$dir/sessions" || fault "rpmemctl sessions: $(cat "$dir/sessions")"
    echo "rpmemctl sessions takes $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
    listed=$(grep -c '"pool_set":' "$dir/sessions")
    [ "$listed" -eq "$1" ] || fault "rpmemctl lists $listed sessions, not $1: $(head -c 2000 "$dir/sessions")"
}

# come_back COUNT TIME: kills all daemons for the TIME-th time, and expects all sessions to come
# back.
come_back() {
    local deadline=$((SECONDS + max_wait))
    # shellcheck disable=SC2046 # a list of numbers
    kill -KILL $(daemons)
    echo >&9
    # This polls, because the output is a file.
    until [ "$(grep -c ^again_ms "$dir/held")" -eq "$2" ]; do
        kill -0 "$program" 2>/dev/null || fault "the program has ended"
        [ $SECONDS -lt $deadline ] || fault "not all sessions came back"
        sleep 0.1
    done
    [ "$(daemons | wc -l)" -eq "$1" ] || fault "$(daemons | wc -l) daemons came back, not $1"
    echo "all $1 sessions came back within $(said again_ms) ms"
}

# come_back_past_limit COUNT: like come_back, with the default MaxStartups of sshd, which drops some
# of more than 10 simultaneous logins.
come_back_past_limit() {
    local dropped
    sed -i 's/^MaxStartups .*/MaxStartups 10:30:100/' "$RPMEM_TEST_SSHD_DIR/sshd_config"
    kill -HUP "$RPMEM_TEST_SSHD_PID" # sshd restarts, and the library retries logins that fail meanwhile
    come_back "$1" 2
    dropped=$(grep -c '^drop connection' "$RPMEM_TEST_SSHD_DIR/sshd.log")
    [ "$dropped" -gt 0 ] || fault "sshd dropped no login: this tries nothing"
    echo "sshd dropped $dropped logins, which came again"
    sed -i 's/^MaxStartups .*/MaxStartups 200/' "$RPMEM_TEST_SSHD_DIR/sshd_config"
    kill -HUP "$RPMEM_TEST_SSHD_PID"
}

# A user may have fewer inotify instances than sessions. A session without one must also detect that
# its idle part was truncated.
truncate_one() {
    local pid number deadline=$((SECONDS + max_wait))
    for pid in $(daemons); do
        readlink "/proc/$pid"/fd/* | grep -q inotify || break
    done
    number=$(readlink "/proc/$pid"/fd/* | sed -nE "s,^$dir/parts/pool([0-9]+)\$,\1,p")
    readlink "/proc/$pid"/fd/* | grep -q inotify && echo "each session has inotify: this tries less"
    truncate -s 2M "$dir/parts/pool$number"
    until grep -q "$dir/parts/pool$number was truncated" "$dir/log"; do
        [ $SECONDS -lt $deadline ] || fault "nobody noticed that part pool$number was truncated"
        sleep 0.1 # the daemon checks at each heartbeat
    done
}

prepare
"$5"
