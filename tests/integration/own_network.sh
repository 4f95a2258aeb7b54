#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_network.sh COMMAND [ARGUMENT...]: runs COMMAND in a network of its own, whose one device has
# 203.0.113.1 and 2001:db8::1 besides the addresses of loopback. 77: this user may not make one.
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
