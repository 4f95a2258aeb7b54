#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# two_networks.sh COMMAND [ARGUMENT...]
#
# Runs COMMAND in a network namespace that a pair of virtual devices connects with another one:
# 203.0.113.1 here, 203.0.113.2 there. An sshd that COMMAND starts with tests/support/with-sshd
# listens in the other namespace, and its sessions run there. Both end with their processes. Exits
# with 77, which ctest reports as skipped, if the user may not create a namespace or the kernel has
# no such devices.
set -eu

skip() {
    echo "skipped: $1" >&2
    exit 77
}

command -v ip >/dev/null || skip "ip is missing: apt-get install iproute2"
if [ -z "${RPMEM_TEST_IN_OWN_NETWORK:-}" ]; then
    unshare --net true 2>/dev/null ||
        skip "this needs the right to make a network namespace (unshare --net), which root has"
    RPMEM_TEST_IN_OWN_NETWORK=1 exec unshare --net "$0" "$@"
fi
# The other namespace exists while this coprocess runs. Its input ends with this process.
coproc there { exec unshare --net sh -c 'echo ready; exec cat' 2>/dev/null; }
# shellcheck disable=SC2154 # coproc sets both
read -r _ <&"${there[0]}"
# shellcheck disable=SC2154
network=/proc/$there_PID/ns/net
ip link set lo up
ip link add initiator type veth peer name target netns "$there_PID" 2>/dev/null ||
    skip "this kernel makes no pair of virtual network devices (veth)"
ip address add 203.0.113.1/24 dev initiator
ip link set initiator up
nsenter --net="$network" sh -c 'ip link set lo up && ip address add 203.0.113.2/24 dev target &&
    ip link set target up'
export RPMEM_TEST_ADDRESS=203.0.113.2
export RPMEM_TEST_SSHD_NETWORK=$network
status=0
"$@" || status=$?
exit "$status"
