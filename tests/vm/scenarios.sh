#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# scenarios.sh SCENARIO...
#
# Runs other tests over verbs with a software RDMA device (rxe), in one virtual machine or in the
# first of two. It fails if a scenario fails, for example because lanes over verbs lose or reorder
# data. Each SCENARIO is one argument:
#   integration FILTER          the tests of tests/integration
#   survive FILTER              the same tests, with reconnects
#   replica METHOD MIB LANES    see replica in lib.sh
#   client SCRIPT ARGUMENT...   a script of tests/clients, or stock.sh; only in one machine
# "6 SCENARIO" uses IPv6.
#   RPMEM_INTEGRATION_TESTS, RPMEM_REPLICA, RPMEM_TEST_DAEMON, RPMEM_WORKLOAD, RPMEM_CLIENT_LIBDIR
#                               the built programs
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1 RPMEM_TEST_ADDRESS6=fd07::1
[ -n "${RPMEM_TEST_TARGET:-}" ] || exec "$here/../support/with-sshd" "$0" "$@"

integration() {
    "$here/../integration/run_tests.sh" "$RPMEM_INTEGRATION_TESTS" "$RPMEM_TEST_DAEMON" \
        "--gtest_filter=$1"
}

survive() {
    RPMEM_RECONNECT_TIMEOUT=60000 integration "$1"
}

client() {
    local status dir=$RPMEM_TEST_DIR
    mkdir -p "$dir/client"
    RPMEM_TEST_DIR=$dir/client RPMEM_DAEMON=$RPMEM_TEST_DAEMON RPMEM_CLIENT_SECONDS=600 \
        RPMEM_PROVIDER="RPMEM_ENABLE_VERBS=1 RPMEM_ENABLE_TCP=0" \
        PATH="$here:$here/../clients:$PATH" "$@"
    status=$?
    rm -rf "$dir/client"
    return $status
}

for scenario; do
    (
        failed=0
        case $scenario in 6\ *) RPMEM_TEST_TARGET=$RPMEM_TEST_TARGET6 ;; esac
        # shellcheck disable=SC2086 # words; patterns match no file
        step "$scenario" ${scenario#6 }
        [ "$failed" -eq 0 ]
    ) || failed=$((failed + 1))
done
finish
