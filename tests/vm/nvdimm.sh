#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# nvdimm.sh [all]
#
# Tests pools on emulated persistent memory in one virtual machine: the first NVDIMM as a file
# system with DAX, the second as Device DAX. It also tests bad blocks, the unsafe shutdown count,
# and a disk that fails (medium_errors.sh). It fails if a byte is wrong, if the daemon uses another
# method for the medium, or if it opens a pool with bad blocks or lost data.
#   RPMEM_REPLICA, RPMEM_VISIT, RPMEM_POWER, RPMEM_UNSAFE_SHUTDOWNS, RPMEM_TEST_DAEMON
#                               the built programs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/media.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1
if [ -z "${RPMEM_TEST_TARGET:-}" ]; then
    namespace 0 fsdax && file_system /dev/pmem0 /mnt/pmem -o dax && namespace 1 devdax || exit 1
    exec "$here/../support/with-sshd" "$0" "$@"
fi
dir=$RPMEM_TEST_DIR
dax=/dev/dax1.0
dax_size=$(cat "/sys/bus/dax/devices/${dax##*/}/size")
general='General Purpose Server Persistency Method'
appliance='Appliance Persistency Method'

pool_set() {
    printf 'PMEMPOOLSET\n' >"$dir/pool.set"
    printf '%s\n' "$@" >>"$dir/pool.set"
    rm -f "$dir/log" /mnt/pmem/*part*
}

# provider tcp|verbs
provider() {
    export RPMEM_ENABLE_VERBS=0
    [ "$1" != verbs ] || RPMEM_ENABLE_VERBS=1
}

# daemon [WORD...] [-- OPTION...]: sets how the daemon is started from now on.
daemon() {
    local words=''
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        words="$words $1"
        shift
    done
    [ $# -eq 0 ] || shift
    export RPMEM_CMD="env$words $RPMEM_TEST_DAEMON --poolset-dir $dir --log-file $dir/log --log-level info $*"
}

expect_policy() {
    expect "persist method: $1" "$dir/log" && expect "persist flush: $2" "$dir/log"
}

# replicate BYTES LANES: replicates a pool of this size.
replicate() {
    rm -f "$dir/image"
    truncate -s "$1" "$dir/image" && "$RPMEM_REPLICA" "$RPMEM_TEST_TARGET" "$dir/image" "$2"
}

# same FILE FROM LENGTH AT: expects the bytes of FILE from FROM to equal those of the image from AT.
same() {
    cmp -n "$3" -i "$2:$4" "$1" "$dir/image"
}

# Copies the content of Device DAX, which can only be mapped, to a file.
read_device() {
    daxio -i "$dax" -o "$dir/device" >/dev/null 2>&1
}

wipe_device() {
    daxio -o "$dax" -i /dev/zero -l 4096 >/dev/null 2>&1
}

file_system_dax() {
    local size=$((8 << 20))
    pool_set "8M /mnt/pmem/part0"
    daemon "$@"
    replicate $size 4 && same /mnt/pmem/part0 4096 $((size - 4096)) 4096
}

file_system_general() {
    file_system_dax && expect_policy "$general" pmem_persist
}

# Over tcp there is no appliance method, even if the caches of the processor are durable.
no_appliance_over_tcp() {
    file_system_dax PMEM_NO_FLUSH=1 -- --persist-apm && expect_policy "$general" pmem_persist
}

# The kernel does not register files with DAX for RDMA, so the pool is served by messages.
file_system_verbs() {
    file_system_dax && expect_policy "$general" pmem_persist &&
        expect "access: by frames only" "$dir/log"
}

# A peer of protocol 0.1 needs registered memory, so it is refused with the reason and the remedy.
file_system_verbs_old_peer() {
    pool_set "8M /mnt/pmem/part0"
    daemon RPMEMD_OFFER=0
    "$RPMEM_VISIT" create "$RPMEM_TEST_TARGET" 0 0 >"$dir/error" && return 1
    cat "$dir/error"
    expect "cannot register" "$dir/error" && expect "Device DAX" "$dir/error" &&
        expect "RPMEM_ENABLE_VERBS=0" "$dir/error" && [ ! -e /mnt/pmem/part0 ]
}

# device_dax SIZE LANES [-- OPTION...]: SIZE is the size in the pool set.
device_dax() {
    local size=$1 lanes=$2
    shift 2
    wipe_device
    pool_set "$size $dax"
    daemon "$@"
    replicate "$dax_size" "$lanes" && read_device &&
        same "$dir/device" 4096 $((dax_size - 4096)) 4096 && expect_header
}

# The header must be at the beginning of the device.
expect_header() {
    [ "$(head -c 7 "$dir/device")" = REPLICA ] || {
        echo "Device DAX does not begin with the signature of the pool"
        return 1
    }
}

device_general() {
    device_dax AUTO 4 && expect_policy "$general" pmem_persist
}

# device_appliance [WORD...]: WORDs are assignments for the daemon.
device_appliance() {
    device_dax "$dax_size" 2 "$@" -- --persist-apm && expect_policy "$appliance" none
}

# A create must not overwrite a pool on the device. After its removal, the device can be used again.
device_again() {
    "$RPMEM_VISIT" create "$RPMEM_TEST_TARGET" 0 0 >"$dir/error" && return 1
    expect "already" "$dir/error" && "$RPMEM_VISIT" open "$RPMEM_TEST_TARGET" 0 0 &&
        "$RPMEM_TEST_DAEMON" --poolset-dir "$dir" --remove pool.set && read_device &&
        cmp -n 4096 "$dir/device" /dev/zero &&
        "$RPMEM_VISIT" create "$RPMEM_TEST_TARGET" 0 0
}

# One pool has Device DAX and an ordinary file. Each range must use the method of its part.
device_and_file() {
    local size=$((dax_size + (8 << 20)))
    wipe_device
    pool_set "OPTION SINGLEHDR" "AUTO $dax" "8M $dir/part1"
    daemon
    RPMEM_REPLICA_FEATURES=1 replicate $size 3 && read_device && expect_policy "$general" pmem_msync &&
        same "$dir/device" 4096 $((dax_size - 4096)) 4096 &&
        same "$dir/part1" 0 $((8 << 20)) "$dax_size"
}

bad_blocks() {
    local first
    pool_set "8M /mnt/pmem/part0"
    daemon
    "$RPMEM_VISIT" create "$RPMEM_TEST_TARGET" 1 0 && "$RPMEM_VISIT" open "$RPMEM_TEST_TARGET" 1 0 ||
        return 1
    first=$(filefrag -v /mnt/pmem/part0 | sed -n 's/^ *0: *[0-9]*\.\. *[0-9]*: *\([0-9]*\)\.\..*/\1/p')
    echo "$((first * 8 + 16)) 8" >/sys/block/pmem0/badblocks || return 1
    cat /sys/block/pmem0/badblocks
    "$RPMEM_VISIT" open "$RPMEM_TEST_TARGET" 1 0 >"$dir/error" && return 1
    cat "$dir/error"
    expect "has bad blocks" "$dir/error"
}

# kill_with_pool_open N: kills the daemon with an open pool, on devices whose unsafe shutdown count
# is N.
kill_with_pool_open() {
    local load
    pool_set "15M /mnt/pmem/part0"
    daemon "LD_PRELOAD=$RPMEM_UNSAFE_SHUTDOWNS" "UNSAFE_SHUTDOWNS=$1"
    "$RPMEM_POWER" load pool "$RPMEM_TEST_TARGET" 1 /dev/null >"$dir/load" 2>&1 &
    load=$!
    until grep -q '^durable' "$dir/load" || ! kill -0 $load; do sleep 0.1; done
    pkill -KILL -x rpmemd
    wait $load
    expect "durable pool" "$dir/load"
}

shutdown_count() {
    kill_with_pool_open 7 || return 1
    daemon "LD_PRELOAD=$RPMEM_UNSAFE_SHUTDOWNS" UNSAFE_SHUTDOWNS=8
    "$RPMEM_VISIT" open "$RPMEM_TEST_TARGET" 0 6 >"$dir/error" && return 1
    cat "$dir/error"
    expect "unsafe shutdown count then 7, now 8" "$dir/error" || return 1
    # If the devices have not lost power, the pool can be opened.
    daemon "LD_PRELOAD=$RPMEM_UNSAFE_SHUTDOWNS" UNSAFE_SHUTDOWNS=7
    "$RPMEM_VISIT" open "$RPMEM_TEST_TARGET" 0 6 || return 1
    # After a clean close, the count does not matter.
    daemon "LD_PRELOAD=$RPMEM_UNSAFE_SHUTDOWNS" UNSAFE_SHUTDOWNS=9
    "$RPMEM_VISIT" open "$RPMEM_TEST_TARGET" 0 6
}

provider tcp
step "file system, GPSPM, tcp" file_system_general
step "file system, no APM over tcp" no_appliance_over_tcp
step "Device DAX and a file, GPSPM, tcp" device_and_file
step "unsafe shutdown count" shutdown_count
[ "${1:-}" != all ] || step "Device DAX, GPSPM, tcp" device_general
provider verbs
step "file system, verbs" file_system_verbs
step "file system, verbs, a peer of protocol 0.1" file_system_verbs_old_peer
step "Device DAX, APM, verbs" device_appliance
[ "${1:-}" != all ] || step "Device DAX, GPSPM, verbs" device_general
provider tcp
[ "${1:-}" != all ] || step "Device DAX, there already" device_again
step "medium errors" "$here/medium_errors.sh"
step "bad blocks" bad_blocks # the last step, because it damages the file system
finish
