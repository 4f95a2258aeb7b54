#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# target_resets.sh TIMES [alone] [MEDIUM...]
#
# Tests resets of the target machine, in the first of two virtual machines. Two stock programs make
# transactions: one has its replica on the target's disk, over verbs, the other on its NVDIMM (a
# file system with DAX), over TCP. The target is reset TIMES times at random moments. It fails if a
# program gets an error or does not continue, or if a replica differs in the end.
#   alone   the programs go on while the target is away (RPMEM_ON_LOSS=alone). After each reset the
#           replicas must get in sync again
#   MEDIUM  disk or pmem; default: both
#   RPMEM_WORKLOAD, RPMEM_CLIENT_LIBDIR, RPMEM_TEST_DAEMON  the built programs
# shellcheck disable=SC2046,SC2086 # words
export RPMEM_DAEMON=$RPMEM_TEST_DAEMON RPMEM_CLIENT_SECONDS=3600 RPMEM_PROVIDER=
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/../clients/lib.sh"
trap - EXIT
# shellcheck source=tests/vm/lib.sh
. "$(dirname "$0")/lib.sh"
threads=2 times=$1 alone=no size=40M
shift
if [ "${1:-}" = alone ]; then
    # Many more steps are made, and the heap of a smaller pool gets too fragmented for them.
    alone=yes size=64M
    shift
fi
media=("$@")
[ $# -gt 0 ] || media=(disk pmem)
max_absence=1200 # seconds from a reset until both programs continue; emulated machines start slowly
declare -A programs
ulimit -c unlimited
echo /dev/shm/core.%p >/proc/sys/kernel/core_pattern
cd /dev/shm || exit 1

# use_medium NAME: sets the variables for the pool on this medium.
use_medium() {
    medium=$1 dir=/dev/shm/$1 pool=/dev/shm/$1/pool.set
    unset FI_PROVIDER
    case $medium in
    disk) export RPMEM_ENABLE_VERBS=1 RPMEM_ENABLE_TCP=0 FI_PROVIDER=verbs ;;
    pmem) export RPMEM_ENABLE_VERBS=0 RPMEM_ENABLE_TCP=1 ;; # the kernel registers no files there
    esac
    RPMEM_CMD="$RPMEM_TEST_DAEMON --poolset-dir /mnt/$medium --state-dir /mnt/$medium/state"
    RPMEM_CMD+=" --log-file /mnt/$medium/log --log-level info"
    export RPMEM_CMD
    RPMEM_CLIENT_ENV="RPMEM_RECONNECT_TIMEOUT=$((max_absence * 1000)) RPMEM_PEER_TIMEOUT=10000"
    [ $alone = no ] ||
        RPMEM_CLIENT_ENV="RPMEM_ON_LOSS=alone RPMEM_RECONNECT_TIMEOUT=3000 RPMEM_PEER_TIMEOUT=10000 XDG_STATE_HOME=$dir/state"
    RPMEM_CLIENT_ENV+=" RPMEM_LOG_LEVEL=2 RPMEM_LOG_FILE=$dir/log"
}

explain() {
    local name
    for name in /dev/shm/core*; do
        [ ! -e $name ] || gdb -batch -ex 'thread apply all backtrace' $RPMEM_WORKLOAD $name 2>&1 | tail -n 150
    done
    for name in "${media[@]}"; do
        tail -v -n 20 /dev/shm/$name/log /dev/shm/$name/output
        on_target "tail -v -n 20 /mnt/$name/log"
    done
}

make_pool() {
    mkdir -p $dir/replica
    write_set $pool '' "$size:$dir/part0"
    echo "REPLICA $RPMEM_TEST_TARGET pool.set" >>$pool
    on_target "printf 'PMEMPOOLSET\n$size /mnt/$medium/part0\n' >/mnt/$medium/pool.set"
    client pmempool create obj --layout=rpmem_workload $pool
}

begin_work() {
    workload run $pool --threads $threads --until $dir/done --counts $dir/counts \
        --pause $dir/pause >$dir/output 2>&1 &
    programs[$medium]=$!
}

counts() {
    cat "${media[@]/%//counts}" 2>/dev/null |
        od -An -v -tu8 -w256 | cut -c 1-$((21 * threads))
}

# Waits for two steps of each thread of both programs. The first may have begun before the call.
expect_progress() {
    local before after i name waits end=$((SECONDS + max_absence))
    read -d '' -ra before < <(counts)
    while [ $SECONDS -lt $end ]; do
        for name in "${media[@]}"; do
            kill -0 ${programs[$name]} 2>/dev/null || { echo "the program on $name has ended" && return 1; }
        done
        read -d '' -ra after < <(counts)
        waits=
        for ((i = 0; i < ${#media[@]} * threads; i++)); do
            [ "${after[i]:-0}" -ge $((${before[i]:-0} + 2)) ] || waits=yes
        done
        [ -n "$waits" ] || return 0
        sleep 0.2
    done
    echo "no progress within $max_absence s"
    return 1
}

starts() {
    wc -l </vm/starts
}

logged() {
    grep -c "$1" $dir/log
}

# expect_in_sync WITHOUT: waits until each program has gone on alone, WITHOUT times in all, and its
# replica is in sync again. The programs make no steps meanwhile: an emulated target is slower than they are.
expect_in_sync() {
    local name end=$((SECONDS + max_absence))
    touch "${media[@]/%//pause}"
    for name in "${media[@]}"; do
        use_medium $name
        until [ "$(logged 'goes on without its replica')" -ge $1 ] &&
            [ "$(logged 'is in sync again')" -ge "$(logged 'goes on without its replica')" ]; do
            [ $SECONDS -lt $end ] || { echo "the replica on $name is not in sync" && return 1; }
            sleep 0.2
        done
    done
    rm "${media[@]/%//pause}"
}

# Resets the target at a random moment, and expects both programs to continue when it has started.
reset_target() {
    local before began
    before=$(starts)
    sleep "$((RANDOM % 3)).$((RANDOM % 10))"
    began=$SECONDS
    touch /vm/reset
    while [ "$(starts)" -eq "$before" ]; do
        [ $((SECONDS - began)) -lt $max_absence ] || { echo "the target does not start" && return 1; }
        sleep 0.2
    done
    printf 'the target was away for %s s' $((SECONDS - began))
    expect_progress || return 1
    printf ', and the programs went on after %s s\n' $((SECONDS - began))
    [ $alone = no ] || expect_in_sync $reset
}

end_work() {
    local status=0
    touch $dir/done
    wait ${programs[$medium]} || status=$?
    cat $dir/output
    grep -c "reconnected\|is in sync again" $dir/log | sed 's/$/ sessions were made again/'
    return $status
}

# Expects the steps that the program counted, and an equal replica.
compare() {
    write_set $dir/replica/pool.set '' "$size:$dir/replica/part0"
    client $RPMEM_WORKLOAD verify $pool --counts $dir/counts --extents $dir/extents &&
        on_target "cat /mnt/$medium/part0" >$dir/replica/part0 &&
        rm -f $LOCAL/heap_offset &&
        (expect_same_objects $pool $dir/replica/pool.set $dir/extents)
}

for name in "${media[@]}"; do
    use_medium $name
    step "a pool on $name" make_pool
done
for name in "${media[@]}"; do
    use_medium $name
    begin_work
done
step "both programs work" expect_progress
for ((reset = 1; reset <= times && failed == 0; reset++)); do
    step "reset $reset" reset_target
done
for name in "${media[@]}"; do
    use_medium $name
    step "the program on $name" end_work
    step "the replica on $name" compare
done
[ $failed -eq 0 ] || explain
finish
