#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_mounts.sh COMMAND [ARGUMENT...]
#
# Runs COMMAND in a mount namespace, for tests that mount a file system of their own. Its mounts are
# not visible outside. Exits with 77, which ctest reports as skipped, if the user may not do that.
set -eu

unshare --mount mount -t tmpfs tmpfs /mnt 2>/dev/null || {
    echo "skipped: this needs the right to mount a file system (unshare --mount)"
    exit 77
}
exec unshare --mount --propagation private "$@"
