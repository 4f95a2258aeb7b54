#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# daemon_statistics.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests the files that sessions of the real daemon write to stats-dir, below with-sshd. It fails if
# a count is wrong, if the file is not readable for other users, if the file of a dead daemon stays
# or another file is removed, or if a stats-dir that cannot be used ends a session.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/../ctl/lib.sh"
hold_pool=$4
stats=$dir/stats
mkdir "$stats"
# The exporter is another user, so the umask of this user must not matter.
base="umask 077; $base --log-level info"

# eventually COMMAND...: waits 40 s for success, because a daemon writes every 10 s.
eventually() {
    local deadline=$((SECONDS + 40))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || { fault "not within the time: $*" "$(cat "$stats"/*)"; return 1; }
        sleep 0.1
    done
}

# own_file: sets file to that of the only session.
own_file() {
    local files=("$stats"/rpmemd-[0-9a-f]*.prom)
    [ ${#files[@]} = 1 ] && [ -e "${files[0]}" ] && file=${files[0]}
}

# shows NAME LABELS VALUE: LABELS come after those of all samples.
shows() {
    own_file && grep -qxE "$1\\{pool_set=\"a.set\",initiator=\"$(uname -n)\",pid=\"[0-9]+\"$2\\} $3" "$file"
}

writes_what_it_serves() {
    run 0 create "$target" a.set --size 4M
    export RPMEM_CMD="$base --stats-dir $stats"
    hold a.set
    eventually shows rpmemd_session_pool_size_bytes '' 4194304 || return
    eventually shows rpmemd_session_lanes '' 1
    printf '\n\n\n' >&9
    eventually shows rpmemd_session_requests_total ',request="write"' 3
    eventually shows rpmemd_session_request_bytes_total ',request="write"' 192
    eventually shows rpmemd_session_acknowledgements_total '' 3
    eventually shows rpmemd_session_durable_bytes_total ',call="persist"' 192
    eventually shows rpmemd_session_durable_duration_seconds_count ',call="persist"' 3
    shows rpmemd_session_durable_duration_seconds_bucket ',call="persist",le="\+Inf"' 3 || fault "no bucket"
    shows rpmemd_session_failures_total '' 0 || fault "a failure" "$(cat "$file")"
    [ "$(stat -c %a "$file")" = 644 ] || fault "$(stat "$file")"
    if command -v promtool >/dev/null; then
        promtool check metrics <"$file" || fault "promtool does not take it"
    fi
    release || fault "$(cat "$dir/held")"
    is_empty() { [ -z "$(ls -A "$stats")" ]; }
    eventually is_empty
    ! grep 'confinement: denied' "$dir/log" || fault "it takes more than a confined session has"
}

# The next session removes files of dead daemons. Files with other names must stay.
leaves_what_a_kill_left_to_the_next() {
    local others="rpmemd-1.prom rpmemd-0999999999.prom rpmemd-99999999999.prom rpmemd-.prom rpmemd-5x.prom
        rpmemd-999999999.prom.new librpmem-999999999.prom" dead killed name
    export RPMEM_CMD="$base --stats-dir $stats"
    hold a.set
    eventually own_file || return
    dead=$file killed=${file##*-} killed=${killed%.prom}
    kill -KILL "$killed" || fault "no daemon $killed"
    is_gone() { [ ! -e "/proc/$killed" ]; }
    eventually is_gone
    [ -e "$dead" ] || fault "the file of a daemon that was killed is gone already"
    # These are like files of an earlier version, which used only the process id.
    touch -d "1 hour ago" "$stats/.rpmemd-999999999.prom.new" "$stats/rpmemd-999999998.prom"
    for name in $others; do
        touch "$stats/$name"
    done
    printf '\n' >&9 # the library reconnects
    is_another() { compgen -G "$stats/rpmemd-*.prom" | grep -vxF "$(printf "$stats/%s\n" $others)" >"$dir/new" &&
        [ "$(wc -l <"$dir/new")" = 1 ] && ! grep -qxF "$dead" "$dir/new"; }
    eventually is_another
    [ ! -e "$stats/.rpmemd-999999999.prom.new" ] || fault "a temporary file was left"
    for name in $others; do
        [ -e "$stats/$name" ] || fault "$name was removed"
    done
    release || fault "$(cat "$dir/held")"
    rm -f "$stats"/*
}

# Even root cannot create a file in /sys.
serves_without() {
    local where
    for where in "$dir/nowhere" /sys; do
        rm -f "$dir/log"
        export RPMEM_CMD="$base --stats-dir $where"
        hold a.set
        printf '\n' >&9
        release || fault "$where: $(cat "$dir/held")"
        [ "$(grep -c 'warning: stats-dir: ' "$dir/log")" = 1 ] || fault "$where: not one warning" "$(cat "$dir/log")"
    done
}

run_parts writes_what_it_serves leaves_what_a_kill_left_to_the_next serves_without
