#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# status.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL, below with-sshd: what the pools of running programs count.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4
mkdir "$dir/stats"
export RPMEM_STATS_DIR=$dir/stats

tells_of_a_pool() {
    run 0 create "$target" a.set --size 4M
    hold a.set
    run 0 status "$holder" --json
    has /format=1 "/pools/0/pid=$holder" '/pools/0/state="connected"' "/pools/0/pool=\"$target:a.set\"" \
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

# A program of another user shows counters that name the process of the first one.
forged() {
    [ "$(id -u)" = 0 ] || return 0
    local forger before=/proc/$holder/fd copy=
    for copy in "$before"/*; do
        [[ $(readlink "$copy") == /memfd:*rpmem* ]] && break
    done
    coproc FORGER { exec setpriv --reuid 65534 --regid 65534 --clear-groups cat 8<"$copy" 7<&- 9>&-; }
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

# calls_in_views: how many persists the views of watch tell of, together.
calls_in_views() {
    awk -F'"persist":{' '{ split($2, part, /"calls":/); split(part[2], number, /[,}]/); sum += number[1] }
        END { print sum + 0 }' "$dir/views"
}

# until_views TEXT CONDITION...: until that holds of the views that watch has shown.
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

# The calls between two views, and no others: the three before the first view are not among them.
watches() {
    local watching seen
    : >"$dir/views"
    exec 6< <(exec "$ctl" watch "$holder" --json 2>"$dir/errors" </dev/null)
    watching=$!
    until_views "no view" has_views 1
    printf '\n\n' >&9
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

# A program whose session is lost is seen to wait, with the reason; and to go on.
tells_of_a_loss() {
    pkill -KILL -f "^$daemon .*$dir" || fault "no daemon"
    printf '\n' >&9
    hears persisted
    run 0 status "$holder" --json
    has '/pools/0/state="connected"' /pools/0/generation=1 /pools/0/reconnects=1
    run 0 status "$holder"
    says 'last loss: ' 'reconnects 1'
}

# The file for Prometheus comes after 10 seconds, and goes with the last pool.
writes_a_file() {
    local file=$dir/stats/librpmem-$holder.prom deadline=$((SECONDS + 40))
    until grep -qs '^rpmem_pool_reconnects_total{.*} 1$' "$file"; do
        [ $SECONDS -lt $deadline ] || { fault "no file with a reconnect" "$(cat "$file")"; break; }
        sleep 0.1 # until the next round of the library, which writes another file in its place
    done
    release
    [ -z "$(ls -A "$dir/stats")" ] || fault "left behind: $(ls -A "$dir/stats")"
    run 1 status "$holder"
}

run_parts tells_of_a_pool forged watches tells_of_a_loss writes_a_file
