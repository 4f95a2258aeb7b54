#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# medium_errors.sh: in one machine, below with-sshd: a pool of two parts on a disk of which some blocks
# begin to fail while four lanes write. The failing call says so, no call on any lane succeeds
# afterwards, and when the disk is whole again all that was acknowledged is there.
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

# device TABLE: becomes that of the disk, without a sync first: what fails, fails in use.
device() {
    printf '%s\n' "$1" | dmsetup load disk && dmsetup suspend --nolockfs --noflush disk && dmsetup resume disk
}

whole="0 $sectors linear $disk 0"

# failing FROM COUNT: the table of a disk of which these sectors fail, read or written.
failing() {
    printf '0 %s linear %s 0\n%s %s error\n%s %s linear %s %s' "$1" $disk "$1" "$2" \
        $(($1 + $2)) $((sectors - $1 - $2)) $disk $(($1 + $2))
}

# first_sector FILE: of its first extent; the file system has blocks of 4096 bytes.
first_sector() {
    local block
    block=$(filefrag -v "$1" | sed -n 's/^ *0: *[0-9]*\.\. *[0-9]*: *\([0-9]*\)\.\..*/\1/p')
    [ -n "$block" ] && echo $((block * 8))
}

acknowledged() {
    grep -c '^durable ' "$work/output"
}

# await SECONDS COMMAND...
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

# fails_midway PART SKIPPED: a megabyte of it fails, behind so many sectors.
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
    # The daemon is gone, and has left nothing in the page cache that is not on the disk.
    await 60 eval '! pgrep -x rpmemd >/dev/null' || return 1
    return "$status"
}

reopened() {
    "$RPMEM_POWER" reopen pool "$RPMEM_TEST_TARGET" "$work/acknowledged" "$work/image"
}

# Whoever opened the pool has read what is on the disk, and not what was lost on the way to it.
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
