#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# status.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests rpmemctl status, watch and export with a real program that has a pool, below with-sshd. The
# program persists, loses its session, is killed, and gives up. It fails if a count is wrong or
# shown twice, if a process of another user can forge counters unnoticed, or if an ended program is
# still exported as connected.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4
own=status-$$.set # root sees the pools of all tests that run at the same time
mkdir "$dir/stats"
metrics=$dir/stats/rpmemctl-$(id -u).prom

tells_of_a_pool() {
    run 0 create "$target" "$own" --size 4M
    hold "$own"
    run 0 status "$holder" --json
    has /format=1 "/pools/0/pid=$holder" '/pools/0/state="connected"' "/pools/0/pool=\"$target:$own\"" \
        /pools/0/calls/persist/calls=0 /pools/0/lanes=1 /pools/0/size=4194304 /pools/0/generation=0
    printf '\n\n\n' >&9
    hears persisted persisted persisted
    run 0 status "$holder" --json
    has /pools/0/calls/persist/calls=3 /pools/0/calls/persist/bytes=192
    run 0 status
    says "$holder (" 'connected, generation 0' 'persist' '1 lanes over'
    run 0 status "/proc/$holder/exe"
    says "$holder ("
    run 1 status /dev/full
    says 'no pool is open'
    run 1 status 1
}

# A process of another user has the counters of the first program open. Only --all may show it.
forged() {
    [ "$(id -u)" = 0 ] || return 0
    local forger before=/proc/$holder/fd copy=
    for copy in "$before"/*; do
        [[ $(readlink "$copy") == /memfd:*rpmem* ]] && break
    done
    coproc FORGER { exec setpriv --reuid 65534 --regid 65534 --clear-groups cat 8<>"$copy" 7<&- 9>&-; }
    forger=$FORGER_PID
    echo ready >&"${FORGER[1]}"
    read -r -t 30 <&"${FORGER[0]}" || fault "no forger"
    run 0 status
    grep -q "(cat" "$dir/output" && fault "others are shown" "$(cat "$dir/output")"
    run 0 status --all
    says "$forger (" "$holder ("
    run 0 status "$forger" --json
    has "/pools/0/pid=$forger"
    kill "$forger"
    wait "$forger" 2>/dev/null
}

# calls_in_views: prints the sum of the persists in all views of watch.
calls_in_views() {
    awk -F'"persist":{' '{ split($2, part, /"calls":/); split(part[2], number, /[,}]/); sum += number[1] }
        END { print sum + 0 }' "$dir/views"
}

# until_views TEXT CONDITION...: reads views of watch until CONDITION holds. TEXT is the failure.
until_views() {
    local text=$1 view
    shift
    until "$@"; do
        IFS= read -r -t 60 view <&6 || { fault "$text" "$(cat "$dir/views")"; break; }
        echo "$view" >>"$dir/views"
    done
}

has_views() { [ "$(wc -l <"$dir/views")" -ge "$1" ]; }
has_calls() { [ "$(calls_in_views)" -ge "$1" ]; }

# Each view must have only the calls since the view before it. The three persists before the first
# view must not be counted.
watches() {
    local watching seen
    : >"$dir/views"
    exec 6< <(exec "$ctl" watch "$holder" --json 2>"$dir/errors" </dev/null)
    watching=$!
    until_views "no view" has_views 1
    printf '\n\n' >&9
    hears persisted persisted
    until_views "no calls" has_calls 2
    seen=$(wc -l <"$dir/views")
    until_views "no view behind them" has_views $((seen + 1))
    kill "$watching"
    cat <&6 >>"$dir/views"
    exec 6<&-
    wait "$watching" 2>/dev/null
    [ "$(calls_in_views)" = 2 ] || fault "not 2 calls in all views" "$(cat "$dir/views")"
    run 0 watch "$holder" --count 2 --json
    [ "$(wc -l <"$dir/output")" = 2 ] || fault "not 2 views" "$(cat "$dir/output")"
    run 0 watch --count 1
    says 'calls/s'
}

# After a loss, the program is connected again, with the reconnect and the reason of the loss.
tells_of_a_loss() {
    pkill -KILL -f "^$daemon .*$dir" || fault "no daemon"
    printf '\n' >&9
    hears persisted
    run 0 status "$holder" --json
    has '/pools/0/state="connected"' /pools/0/generation=1 /pools/0/reconnects=1
    run 0 status "$holder"
    says 'last loss: ' 'reconnects 1'
}

# counted PATTERN: expects a matching line in the file for Prometheus within 30 s.
counted() {
    local deadline=$((SECONDS + 30))
    until grep -qsE "$1" "$metrics"; do
        [ $SECONDS -lt $deadline ] || { fault "no line $1" "$(cat "$metrics")"; return; }
        sleep 0.05 # polls, because nothing signals that the file was replaced
    done
}

# uncounted PATTERN: expects the file to have no matching line within 30 s.
uncounted() {
    local deadline=$((SECONDS + 30))
    while grep -qE "$1" "$metrics"; do
        [ $SECONDS -lt $deadline ] || { fault "still a line $1" "$(cat "$metrics")"; return; }
        sleep 0.05
    done
}

# An export without --interval writes the pools of this moment once.
exports_once() {
    local before
    before=$(date +%s)
    run 0 export --textfile "$dir/stats"
    counted "^rpmem_pool_reconnects_total\{.*pid=\"$holder\"} 1\$"
    counted "^rpmem_pool_state\{.*pid=\"$holder\",state=\"connected\"} 1\$"
    [ "$(awk '$1 == "rpmem_export_timestamp_seconds" { print $2 }' "$metrics")" -ge "$before" ] ||
        fault "no time of the export" "$(cat "$metrics")"
    [ "$(stat -c %a "$metrics")" = 644 ] || fault "the exporter of another user cannot read it"
    release
    run 0 export --textfile "$dir/stats"
    grep -q "pid=\"$holder\"" "$metrics" && fault "a program that has ended is there" "$(cat "$metrics")"
    rm "$metrics"
    run 1 status "$holder"
    run 1 export --textfile "$dir/absent"
    says "cannot open the directory $dir/absent"
    run 2 export
    run 2 export --textfile "$dir/stats" --interval 0
}

# A killed program disappears from the file. A program that has given up stays in it as failed, even
# after its end, until a program has the pool again.
exports_the_end() {
    local exporter killed=$holder before
    "$ctl" export --textfile "$dir/stats" --interval 1 2>"$dir/errors" &
    exporter=$!
    hold "$own"
    killed=$holder
    counted "^rpmem_pool_state\{.*pid=\"$killed\",state=\"connected\"} 1\$"
    kill -KILL "$killed"
    release 2>/dev/null
    uncounted "pid=\"$killed\""
    export RPMEM_RECONNECT_TIMEOUT=1000
    hold "$own"
    counted "^rpmem_pool_state\{.*pid=\"$holder\",state=\"connected\"} 1\$"
    mv "$sets/$own" "$sets/away" # a reconnect finds no pool set
    pkill -KILL -f "^$daemon .*$dir" || fault "no daemon"
    printf '\n' >&9
    release && fault "the program has not given up" "$(cat "$dir/held")"
    [ ! -e "/proc/$holder" ] || fault "the program has not ended"
    counted "^rpmem_pool_state\{.*pid=\"$holder\",state=\"failed\"} 1\$"
    before=$(awk '$1 == "rpmem_export_timestamp_seconds" { print $2 }' "$metrics")
    uncounted "^rpmem_export_timestamp_seconds $before\$" # the next export must still have it
    counted "^rpmem_pool_state\{.*pid=\"$holder\",state=\"failed\"} 1\$"
    mv "$sets/away" "$sets/$own"
    hold "$own"
    counted "^rpmem_pool_state\{.*pid=\"$holder\",state=\"connected\"} 1\$"
    # The exporter also has the counters open, but it must not be shown as a program with a pool.
    run 0 status --json
    grep -q "\"pid\": $exporter\\b" "$dir/output" && fault "the exporter has a pool" "$(cat "$dir/output")"
    uncounted "pool_set=\"$own\".*state=\"failed\"} 1\$"
    kill "$exporter"
    wait "$exporter" || fault "status $? of the exporter" "$(cat "$dir/errors")"
    [ -z "$(ls -A "$dir/stats")" ] || fault "left behind: $(ls -A "$dir/stats")"
    release
}

# Earlier versions of the library wrote these files themselves. This one warns and names rpmemctl
# export.
names_the_successor() {
    RPMEM_STATS_DIR=$dir/stats RPMEM_LOG_LEVEL=2 hold "$own"
    release
    grep -q "RPMEM_STATS_DIR=$dir/stats: .*rpmemctl export --textfile $dir/stats" "$dir/held" ||
        fault "no warning" "$(cat "$dir/held")"
    [ -z "$(ls -A "$dir/stats")" ] || fault "the library has written $(ls -A "$dir/stats")"
}

run_parts tells_of_a_pool forged watches tells_of_a_loss exports_once exports_the_end names_the_successor
