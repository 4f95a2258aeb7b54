#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_network.sh COMMAND [ARGUMENT...]
#
# Runs COMMAND in a network namespace, for tests of addresses. Its only device has 203.0.113.1 and
# 2001:db8::1 besides the loopback addresses. Exits with 77, which ctest reports as skipped, if the
# user may not create a namespace.
set -eu

if [ -z "${RPMEM_TEST_IN_OWN_NETWORK:-}" ]; then
    unshare --net true 2>/dev/null || {
        echo "skipped: this needs the right to make a network namespace (unshare --net)"
        exit 77
    }
    RPMEM_TEST_IN_OWN_NETWORK=1 exec unshare --net "$0" "$@"
fi
ip link set lo up
ip address add 203.0.113.1/32 dev lo
ip -6 address add 2001:db8::1/128 dev lo nodad
exec "$@"
