#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# power.sh ACKNOWLEDGED [last]
#
# One boot of the test of power failures, in a virtual machine that power_cuts kills. It first
# checks the pools on the NVDIMM and the disk against the acknowledgements of earlier boots. Then it
# runs the load that the next power failure interrupts. It fails if an acknowledged word is lost or
# torn, see power.cpp.
#   RPMEM_POWER, RPMEM_TEST_DAEMON  the programs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/media.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1
acknowledged=$1

mount_media() {
    namespace 0 fsdax && file_system /dev/pmem0 /mnt/pmem -o dax && file_system /dev/vda /mnt/disk
}

check() {
    local status=0
    step "NVDIMM" "$RPMEM_POWER" check pmem "$acknowledged" /mnt/pmem/part{0,1}
    step "disk" "$RPMEM_POWER" check disk "$acknowledged" /mnt/disk/part{0,1}
    [ "$failed" -eq 0 ]
}

load() {
    local name=$1 status
    printf 'PMEMPOOLSET\n10M %s/part0\n5M %s/part1\n' "/mnt/$name" "/mnt/$name" \
        >"$RPMEM_TEST_DIR/$name.set"
    "$RPMEM_POWER" load "$name" "$RPMEM_TEST_TARGET" 4 "$acknowledged"
    status=$?
    echo "=== FAILED: the load on $name has ended: status $status"
    tail -n 20 "$RPMEM_TEST_DIR/log-$name"
}

if [ -z "${RPMEM_TEST_TARGET:-}" ]; then
    mount_media || exit 1
    [ ! -s "$acknowledged" ] || check || finish
    [ "${2:-}" != last ] || finish
    exec "$here/../support/with-sshd" "$0" "$@"
fi
# The kernel does not register files of an fsdax file system for RDMA, so that pool uses tcp.
for name in pmem disk; do
    export RPMEM_CMD="$RPMEM_TEST_DAEMON --poolset-dir $RPMEM_TEST_DIR --log-file $RPMEM_TEST_DIR/log-$name --log-level info"
    case $name in
    pmem) RPMEM_ENABLE_VERBS=0 load $name & ;;
    disk) load $name & ;;
    esac
done
wait
exit 1
