#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests a pool of two parts on a disk whose blocks start to fail while four lanes write, in one
# virtual machine below with-sshd. The disk is a real one below device mapper. It fails if a call
# succeeds after the first failure, if an error is not EIO or ECONNRESET, or if acknowledged data is
# missing when the disk works again.
#   RPMEM_POWER, RPMEM_TEST_DAEMON  the programs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/media.sh"
export DM_DISABLE_UDEV=1 RPMEM_ENABLE_VERBS=0
first_part=$((10 << 20))
disk=/dev/vda mapped=/dev/mapper/disk mounted=/mnt/failing
work=$RPMEM_TEST_DIR/failing
sectors=$(blockdev --getsz $disk)
mkdir -p "$work"
export RPMEM_CMD="$RPMEM_TEST_DAEMON --poolset-dir $work --log-file $work/log --log-level info"
printf 'PMEMPOOLSET\n10M %s/part0\n5M %s/part1\n' $mounted $mounted >"$work/pool.set"

# device TABLE: makes TABLE that of the disk. There is no sync before, so errors happen during
# writes.
device() {
    printf '%s\n' "$1" | dmsetup load disk && dmsetup suspend --nolockfs --noflush disk && dmsetup resume disk
}

whole="0 $sectors linear $disk 0"

# failing FROM COUNT: prints the table of a disk on which reads and writes of these sectors fail.
failing() {
    printf '0 %s linear %s 0\n%s %s error\n%s %s linear %s %s' "$1" $disk "$1" "$2" \
        $(($1 + $2)) $((sectors - $1 - $2)) $disk $(($1 + $2))
}

# first_sector FILE: prints the first sector of its first extent. The file system has blocks of 4096
# bytes.
first_sector() {
    local block
    block=$(filefrag -v "$1" | sed -n 's/^ *0: *[0-9]*\.\. *[0-9]*: *\([0-9]*\)\.\..*/\1/p')
    [ -n "$block" ] && echo $((block * 8))
}

acknowledged() {
    grep -c '^durable ' "$work/output"
}

# await SECONDS COMMAND...: waits until COMMAND succeeds.
await() {
    local attempt limit=$1
    shift
    for ((attempt = 0; attempt < limit * 10; attempt++)); do
        ! "$@" || return 0
        sleep 0.1
    done
    echo "not within $limit s: $*"
    return 1
}

written_enough() { [ "$(acknowledged)" -ge 40 ]; }
load_has_ended() { ! kill -0 "$load" 2>/dev/null; }

# fails_midway PART SKIPPED: makes a mebibyte of the part fail, after SKIPPED sectors.
fails_midway() {
    local sector load status
    : >"$work/output"
    "$RPMEM_POWER" load pool "$RPMEM_TEST_TARGET" 4 "$work/acknowledged" \
        >"$work/output" 2>"$work/error" &
    load=$!
    await 300 written_enough && sector=$(first_sector "$mounted/$1") &&
        device "$(failing $((sector + $2)) 2048)" && await 300 load_has_ended
    status=$?
    [ "$status" -eq 0 ] || kill -KILL "$load"
    wait "$load" || status=$?
    cat "$work/output" >>"$work/acknowledged"
    echo "$(acknowledged) acknowledged; $(cat "$work/error")"
    device "$whole" || return 1
    # Wait until the daemon has ended and has released the pool.
    await 60 eval '! pgrep -x rpmemd >/dev/null' || return 1
    return "$status"
}

reopened() {
    "$RPMEM_POWER" reopen pool "$RPMEM_TEST_TARGET" "$work/acknowledged" "$work/image"
}

# The program that reopened the pool must have read the bytes on the disk, not lost ones in the page
# cache.
on_the_disk() {
    umount $mounted && mount $mapped $mounted &&
        "$RPMEM_POWER" check pool "$work/acknowledged" $mounted/part{0,1} &&
        cmp -n $((first_part - 4096)) -i 4096 "$work/image" $mounted/part0 &&
        cmp -n $(((14 << 20) - first_part)) -i $first_part:4096 "$work/image" $mounted/part1
}

: >"$work/acknowledged"
printf '%s\n' "$whole" | dmsetup create disk && file_system $mapped $mounted || exit 1
step "blocks of the first part fail" fails_midway part0 4096
step "all that was acknowledged is there, opened again" reopened
step "and nothing else, on the disk" on_the_disk
[ "$failed" -eq 0 ] || tail -n 20 "$work/log"
umount $mounted && dmsetup remove disk
finish
