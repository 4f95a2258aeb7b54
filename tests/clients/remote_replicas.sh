# SPDX-License-Identifier: BSD-3-Clause
# Checks whether the libpmemobj of this machine supports remote replicas. Sourced by bash.
# shellcheck shell=bash

# remote_replicas_refused: prints why libpmemobj and pmempool refuse pool sets with a remote
# replica. Returns 1 and prints nothing if they accept them.
remote_replicas_refused() {
    local version
    version=$(dpkg-query -W -f '${Version}' libpmemobj1 2>/dev/null) || return 1
    dpkg --compare-versions "$version" ge 1.13~ || return 1
    echo "libpmemobj $version refuses pool sets with a remote replica; 1.12.1, as in Debian 12, accepts them"
}
