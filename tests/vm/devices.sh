#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the choice of RDMA devices with software devices (rxe) in one virtual machine, and the
# errors if none can be used. It fails if another device than the named one is used, if an error
# does not name the device and the cause, or if a failed create leaves a part.
#   RPMEM_VISIT, RPMEM_CTL, RPMEM_TEST_DAEMON  the built programs
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1 RPMEM_ENABLE_TCP=0
if [ -z "${RPMEM_TEST_TARGET:-}" ]; then
    # Make a second device, whose port is down like its interface, and an interface without RDMA.
    ip link add dummy1 type dummy && ip address add 10.7.9.1/24 dev dummy1 && ip link set dummy1 up &&
        rdma link add rxe1 type rxe netdev dummy1 && ip link set dummy1 down &&
        ip link add dummy2 type dummy && ip address add 10.7.10.1/24 dev dummy2 &&
        ip link set dummy2 up || exit 1
    exec "$here/../support/with-sshd" "$0" "$@"
fi
dir=$RPMEM_TEST_DIR
printf 'PMEMPOOLSET\n4M %s/part0\n' "$dir" >"$dir/pool.set"

# daemon OPTION...: the next sessions run the daemon with these options.
daemon() {
    export RPMEM_CMD="$RPMEM_TEST_DAEMON --poolset-dir $dir --log-file $dir/log --log-level info $*"
}

visit() {
    rm -f "$dir/part0"
    "$@" "$RPMEM_VISIT" create "${target:-$RPMEM_TEST_TARGET}" 0 0
}

# refused TEXT... -- [WORD...]: expects a visit, with WORDs before the command, to fail with all
# TEXTs.
refused() {
    local texts=() text output
    while [ "$1" != -- ]; do
        texts+=("$1")
        shift
    done
    shift
    if output=$(visit "$@" 2>&1); then
        echo "it was not refused"
        return 1
    fi
    printf '%s\n' "$output"
    for text in "${texts[@]}"; do
        [[ $output == *"$text"* ]] || { printf 'not said: %s\n' "$text" && return 1; }
    done
    [ ! -e "$dir/part0" ] || { echo "part0 is left" && return 1; }
}

hidden() { # FILE COMMAND...: runs COMMAND while FILE has another name
    local file=$1 status
    shift
    mv "$file" "$file.hidden" || return 1
    "$@"
    status=$?
    mv "$file.hidden" "$file"
    return "$status"
}

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
export RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE=$dir/library
daemon

both_names() {
    daemon --device rxe0:1
    : >"$dir/library"
    RPMEM_DEVICE=mlx5_0,rxe0:1 visit && grep -qF 'over verbs, rxe0' "$dir/library"
}
step "right names at both ends" both_names
RPMEM_DEVICE=rxe9 step "wrong name" refused RPMEM_DEVICE=rxe9 \
    'rxe0 (port 1 ACTIVE, Ethernet, dummy0)' 'rxe1 (port 1 DOWN' --
RPMEM_DEVICE=rxe0: step "no name" refused 'RPMEM_DEVICE: "rxe0:" is not a list of devices' --
RPMEM_DEVICE=rxe1 step "port down" refused 'rxe1 has no active port (port 1 is DOWN)' --

uverbs=/dev/infiniband/$(grep -lx rxe0 /sys/class/infiniband_verbs/*/ibdev | xargs dirname | xargs basename)
unreadable() {
    chmod 600 "$uverbs"
    RPMEM_DEVICE=rxe0 RPMEM_LOG_LEVEL=0 refused "no permission to read and write $uverbs" -- "${nobody[@]}"
    local status=$?
    chmod 666 "$uverbs"
    return "$status"
}
step "unreadable" unreadable
export RPMEM_DEVICE=rxe0
step "missing device file" hidden "$uverbs" refused "$uverbs is missing" --
step "missing connection manager" hidden /dev/infiniband/rdma_cm \
    refused '/dev/infiniband/rdma_cm is missing' 'modprobe rdma_ucm' --
unset RPMEM_DEVICE

target=root@10.7.10.1:$RPMEM_TEST_SSH_PORT step "an address without RDMA" \
    refused '10.7.10.1 (dummy2), an address that no RDMA device owns' 'rxe0 (port 1 ACTIVE' --
target=root@127.0.0.1:$RPMEM_TEST_SSH_PORT step "loopback" \
    refused '127.0.0.1 is a loopback address' --
FI_PROVIDER=tcp step "libfabric is restricted" refused FI_PROVIDER=tcp --

daemon --device rxe9
step "wrong name at the target" refused 'the target does not offer verbs' --
step "the target's log says why" grep -F 'verbs is not offered: device=rxe9: no such device' "$dir/log"
ip link set dummy1 up
daemon --device rxe1
step "other device at the target" refused 'the target does not offer verbs' --
step "the target's log says why" grep -F 'RDMA device rxe0, which device=rxe1 does not allow' "$dir/log"
daemon
probed() {
    "$RPMEM_CTL" probe "$RPMEM_TEST_TARGET" >"$dir/probe" || { cat "$dir/probe" && return 1; }
    cat "$dir/probe"
    grep -qF "A pool on $RPMEM_TEST_TARGET would use verbs." "$dir/probe" &&
        [ "$(grep -c '^    rxe0       can be used' "$dir/probe")" = 2 ] &&
        [ "$(grep -c 'port 1 ACTIVE, Ethernet, dummy0: 10.7.7.1 fd07::1' "$dir/probe")" = 2 ]
}
step "rpmemctl probe would use verbs" probed
no_rdma_there() {
    daemon --device rxe9
    "$RPMEM_CTL" probe "$RPMEM_TEST_TARGET" >"$dir/probe" && return 1
    tail -n 5 "$dir/probe" | tee "$dir/tail"
    daemon
    grep -F 'not over verbs: the target does not offer it: device=rxe9' "$dir/tail"
}
step "rpmemctl probe without a device at the target" no_rdma_there

with_tcp() {
    : >"$dir/library"
    FI_PROVIDER=verbs,tcp RPMEM_ENABLE_TCP=1 RPMEM_DEVICE=rxe9 visit &&
        grep 'over tcp' "$dir/library" | grep -F 'RPMEM_DEVICE=rxe9: no such device'
}
step "tcp instead, and the log says why" with_tcp
finish
