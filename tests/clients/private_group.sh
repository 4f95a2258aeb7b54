#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests a target whose daemon runs as an ordinary user with the umask of Debian 13, 002. So the
# private group of the user may write to the pool set file and to all directories. The test fails if
# the daemon refuses them, or if a check of them needs a system call that a confined daemon lacks.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

user=backup # an account of Debian with a group of its own
if [ "$(id -u)" != 0 ] || [ "$(id -gn "$user" 2>/dev/null)" != "$user" ]; then
    echo "skipped: only root can run a daemon as the user $user"
    exit 77
fi
remote_pool multi
dir=$RPMEM_TEST_DIR/target1
mkdir "$dir/state"
chown -R "$user:$user" "$dir"
chmod -R ug+rwX "$dir"
chmod go+x "${RPMEM_TEST_DIR%/*}" "$RPMEM_TEST_DIR"
RPMEM_CMD="umask 002; exec setpriv --reuid $user --regid $user --clear-groups env HOME=$dir $RPMEM_CMD"

step "a pool is made, used and opened again"
must client pmempool create obj --layout=rpmem_workload "$pool"
must workload run "$pool" --threads 2 --steps 20
must workload run "$pool" --threads 2 --steps 20
must workload verify "$pool" --threads 2 --steps 40 --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"

step "another group may not write"
chgrp "$(id -g daemon)" "$target"
must_fail client pmempool info "$pool"
expect_log 1 "may write to $target"
