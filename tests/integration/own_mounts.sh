#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_mounts.sh COMMAND [ARGUMENT...]: runs COMMAND where it may mount file systems that nobody else
# sees. 77: this user may not.
set -eu

unshare --mount mount -t tmpfs tmpfs /mnt 2>/dev/null || {
    echo "skipped: this needs the right to mount a file system (unshare --mount)"
    exit 77
}
exec unshare --mount --propagation private "$@"
