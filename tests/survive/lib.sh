# SPDX-License-Identifier: BSD-3-Clause
# Functions for the runs with faults: targets whose daemons can be found, a program of libpmemobj
# that works until it is told to end, the faults, and the checks at the end. Sourced by bash.
# shellcheck shell=bash
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../clients/lib.sh"

ctl=${RPMEM_CTL:-rpmemctl} # for the state of the replica
threads=${RPMEM_SURVIVE_THREADS:-4}
pool_size=${RPMEM_SURVIVE_SIZE:-64M}
peer_timeout=4 # seconds without a message after which either end ends the session
resume_time=30 # seconds within which the program must continue after a fault
done_file=$LOCAL/done
counts_file=$LOCAL/counts
pause_file=$LOCAL/pause # the program waits while it exists
resumed=() # "FAULT MILLISECONDS" for each fault

# The whole run has this limit. RPMEM_RECONNECT_TIMEOUT has its default, so a fault that the library
# survives only with a longer one is an error. RPMEM_SURVIVE_CLIENT can set this and other variables
# of the program.
CLIENT_SECONDS=${RPMEM_SURVIVE_SECONDS:-3600}
RPMEM_CLIENT_ENV="RPMEM_PEER_TIMEOUT=${peer_timeout}000 RPMEM_LOG_LEVEL=2 RPMEM_LOG_FILE=$LOCAL/library.log ${RPMEM_SURVIVE_CLIENT:-}"

now_ms() {
    local now=$EPOCHREALTIME
    echo $((${now/./} / 1000))
}

# --- targets and pools ---------------------------------------------------------------------------

# serve N: makes target N and prints its command. The pid file of the target has its last daemon.
serve() {
    local dir=$RPMEM_TEST_DIR/target$1 command
    command=$(target_make "$1" -- --state-dir "$dir/state" --peer-timeout "${peer_timeout}000")
    {
        echo '#!/bin/sh'
        echo "echo \$\$ >$dir/pid"
        printf 'exec env %s "$@"\n' "$command"
    } >"$dir/rpmemd"
    chmod 755 "$dir/rpmemd"
    printf '%s' "$dir/rpmemd"
}

# make_pool REPLICAS: creates $pool with this number of remote replicas, on targets 1 and 2.
make_pool() {
    local number commands=()
    pool=$LOCAL/pool.set
    for ((number = 1; number <= $1; number++)); do
        commands+=("$(serve $number)")
    done
    write_set "$pool" '' "$pool_size:$LOCAL/part0"
    for ((number = 1; number <= $1; number++)); do
        echo "REPLICA $RPMEM_TEST_TARGET pool$number.set" >>"$pool"
        # Requests reach the two commands in turn, so both targets must serve both pool sets.
        for dir in "$RPMEM_TEST_DIR"/target?/; do
            write_set "${dir}sets/pool$number.set" '' \
                "$pool_size:$RPMEM_TEST_DIR/target$number/parts/part0"
        done
    done
    RPMEM_CMD=$(IFS='|' && echo "${commands[*]}")
    export RPMEM_CMD
    must client pmempool create obj --layout=rpmem_workload "$pool"
    heap_offset "$pool" >/dev/null
}

remote_set() {
    printf '%s\n' "$RPMEM_TEST_DIR/target$1/sets/pool$1.set"
}

# --- the program ---------------------------------------------------------------------------------

begin_work() {
    rm -f "$done_file" "$pause_file"
    workload run "$pool" --threads "$threads" --until "$done_file" --counts "$counts_file" \
        --pause "$pause_file" --extents "$LOCAL/live" >"$LOCAL/output" &
    program=$! # the process of timeout(1), whose child is the program
    expect_progress 60 || fail "the program does not begin"
}

# program_pid: prints the process of the program itself.
program_pid() {
    pgrep -P "$(pgrep -P "$program" -x timeout || echo "$program")" -x rpmem_workload
}

# A program that goes on alone would outlive a failed test.
kill_program() {
    local status=$? pid
    [ -z "${program:-}" ] || ! pid=$(program_pid) || kill -KILL "$pid"
    return "$status"
}
trap 'kill_program; expect_no_reports' EXIT

# expect_progress SECONDS: waits for two steps of each thread. The first may have begun before the
# call.
expect_progress() {
    local status=0
    "$RPMEM_AWAIT_STEPS" "$counts_file" "$threads" "$1" "$program" || status=$?
    [ "$status" -le 1 ] || fail "the program has ended: $(cat "$LOCAL/output")"
    return "$status"
}

# pause_work: returns when all threads wait between two steps, so all calls have returned.
pause_work() {
    local attempt
    rm -f "$LOCAL/live"
    touch "$pause_file"
    for ((attempt = 0; attempt < 600; attempt++)); do
        [ ! -s "$LOCAL/live" ] || return 0
        kill -0 "$program" 2>/dev/null || fail "the program has ended: $(cat "$LOCAL/output")"
        sleep 0.1
    done
    fail "the program does not reach the end of a step within 60 s"
}

resume_work() {
    rm -f "$pause_file"
}

# await_in_sync SECONDS: waits until rpmemctl status shows that the pool is connected, and so in sync.
await_in_sync() {
    local end=$((SECONDS + $1))
    until "$ctl" status "$(program_pid)" --json 2>"$LOCAL/status.errors" >"$LOCAL/status" &&
        grep -q '"state": "connected"' "$LOCAL/status"; do
        [ $SECONDS -lt $end ] ||
            fail "not in sync within $1 s: $(cat "$LOCAL/status" "$LOCAL/status.errors" "$LOCAL/library.log")"
        sleep 0.1
    done
}

# expect_equal_in_pause SECONDS: pauses the program, waits until target 1 is in sync, and compares all
# live objects of this machine's part and the target's. make_pool must have cached heap_offset.
expect_equal_in_pause() {
    pause_work
    await_in_sync "$1"
    expect_same_objects "$pool" "$(remote_set 1)" "$LOCAL/live"
    resume_work
}

# suffer FAULT [ARGUMENT...]: causes the fault and expects the program to continue.
suffer() {
    local began name=$*
    began=$(now_ms)
    "$@"
    expect_progress $resume_time || fail "no progress $resume_time s after $name"
    resumed+=("${name// /_} $(($(now_ms) - began))")
}

end_work() {
    local status=0
    touch "$done_file"
    wait "$program" || status=$?
    [ "$status" -eq 0 ] || fail "status $status of the program: $(cat "$LOCAL/library.log")"
    cat "$LOCAL/output"
}

# --- faults --------------------------------------------------------------------------------------

# daemon_pid N: prints the daemon of target N. It may just be starting, so this waits up to 10 s.
daemon_pid() {
    local pid attempt
    for ((attempt = 0; attempt < 200; attempt++)); do
        pid=$(cat "$RPMEM_TEST_DIR/target$1/pid" 2>/dev/null) &&
            [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = rpmemd ] && echo "$pid" && return
        sleep 0.05
    done
    fail "target $1 has no daemon"
}

# kill_daemon [N [SIGNAL]]
kill_daemon() {
    must kill -"${2:-KILL}" "$(daemon_pid "${1:-1}")"
}

# stop_daemon [N]: the daemon that takes over must kill the stopped one, see expect_survived.
stop_daemon() {
    local pid
    pid=$(daemon_pid "${1:-1}")
    must kill -STOP "$pid"
    stopped+=("$pid")
}
stopped=()

# kill_ssh: kills one ssh process of the program.
kill_ssh() {
    local pids=()
    mapfile -t pids < <(pgrep -P "$(program_pid)" -x ssh)
    [ ${#pids[@]} -gt 0 ] || fail "the program has no ssh"
    must kill -KILL "${pids[RANDOM % ${#pids[@]}]}"
}

# kill_sshd_session [N]: kills the sshd process of the session of target N.
kill_sshd_session() {
    local pid
    pid=$(daemon_pid "${1:-1}")
    while [[ "$(cat "/proc/$pid/comm")" != sshd* ]]; do # sshd-session since OpenSSH 9.8
        pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status")
        [ "${pid:-0}" -gt 1 ] || fail "the daemon of target ${1:-1} has no sshd"
    done
    must kill -KILL "$pid"
}

# lose_target: stops sshd and kills the daemon.
lose_target() {
    must kill "${own_sshd:-$RPMEM_TEST_SSHD_PID}"
    kill_daemon 1
}

return_target() {
    local elsewhere=()
    [ -z "${RPMEM_TEST_SSHD_NETWORK:-}" ] || elsewhere=(nsenter --net="$RPMEM_TEST_SSHD_NETWORK")
    setpriv --pdeathsig TERM "${elsewhere[@]}" "$(PATH=$PATH:/usr/sbin command -v sshd)" -D -e \
        -f "$RPMEM_TEST_SSHD_DIR/sshd_config" 2>>"$RPMEM_TEST_SSHD_DIR/sshd.log" </dev/null &
    own_sshd=$!
}

# restart_sshd [SECONDS]: stops sshd, kills the daemon, and starts sshd again after that time.
restart_sshd() {
    lose_target
    sleep "${1:-1}"
    return_target
}

there() {
    nsenter --net="$RPMEM_TEST_SSHD_NETWORK" "$@"
}

# reset_connections [ssh|lanes]: sends RST to both ends.
reset_connections() {
    local which=()
    case ${1:-all} in
    ssh) which=(dport = ":$RPMEM_TEST_SSH_PORT") ;;
    lanes) which=(dport != ":$RPMEM_TEST_SSH_PORT") ;;
    esac
    ss -K -H -t dst "$RPMEM_TEST_ADDRESS" "${which[@]}" >"$LOCAL/reset"
    [ -s "$LOCAL/reset" ] || fail "there was no connection to reset"
}

# lose_packets_to_target: packets go to a hardware address that no interface has, so neither end
# gets an error.
lose_packets_to_target() {
    must ip neighbour replace "$RPMEM_TEST_ADDRESS" lladdr 02:00:00:00:00:99 dev initiator nud permanent
}

lose_packets_from_target() {
    must there ip neighbour replace 203.0.113.1 lladdr 02:00:00:00:00:99 dev target nud permanent
}

deliver_packets() {
    ip neighbour del "$RPMEM_TEST_ADDRESS" dev initiator 2>/dev/null
    there ip neighbour del 203.0.113.1 dev target 2>/dev/null
}

# drop to|from|both SECONDS
drop() {
    [ "$1" = from ] || lose_packets_to_target
    [ "$1" = to ] || lose_packets_from_target
    sleep "$2"
    deliver_packets
}

# take_link_down SECONDS
take_link_down() {
    must ip link set initiator down
    sleep "$1"
    must ip link set initiator up
}

# flap TIMES
flap() {
    local time
    for ((time = 0; time < $1; time++)); do
        take_link_down 0.3
        sleep 0.3
    done
}

# take_address SECONDS: the target has no address for that time.
take_address() {
    must there ip address del "$RPMEM_TEST_ADDRESS/24" dev target
    sleep "$1"
    must there ip address add "$RPMEM_TEST_ADDRESS/24" dev target
}

# --- checks at the end ---------------------------------------------------------------------------

# expect_survived REPLICAS: each replica has every step that the program counted. The objects are
# compared byte by byte, and the pool is restored from each replica alone.
expect_survived() {
    local replicas=$1 number pid
    must client "$RPMEM_WORKLOAD" verify "$pool" --counts "$counts_file" --extents "$LOCAL/extents"
    for ((number = 1; number <= replicas; number++)); do
        expect_same_objects "$pool" "$(remote_set $number)" "$LOCAL/extents"
    done
    for ((number = 1; number <= replicas; number++)); do
        rm $(parts_of "$pool")
        if [ "$replicas" -eq 2 ]; then
            rm $(parts_of "$(remote_set $((3 - number)))")
        fi
        must client pmempool sync "$pool"
        must client "$RPMEM_WORKLOAD" verify "$pool" --counts "$counts_file"
    done
    for pid in "${stopped[@]}"; do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != rpmemd ] || fail "process $pid was not ended"
    done
}

# print_resumed: prints for each fault how long it took until all threads continued.
print_resumed() {
    printf '%s\n' "${resumed[@]}" | sort -k1,1 -k2,2n | awk '
        function print_one() { printf "%-28s %5d %11d %11d\n", name, n, times[int((n + 1) / 2)], times[n] }
        BEGIN { printf "%-28s %5s %11s %11s\n", "fault", "times", "median, ms", "longest, ms" }
        name != $1 { if (n) print_one(); n = 0; name = $1 }
        { times[++n] = $2 }
        END { print_one() }'
}
