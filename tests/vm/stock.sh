#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests a pool of Debian's pmempool and libpmemobj with a remote replica over verbs: it is created,
# filled, lost and restored. It fails if the replica differs from the pool, or if the restored pool
# does. tests/clients has longer tests, see tests/clients/lib.sh.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/../clients/lib.sh"
RPMEM_CMD=$(target_make 1)
export RPMEM_CMD RPMEM_CLIENT_ENV="RPMEM_MAX_NLANES=2"
write_pool multi
add_remote "$LOCAL/alone.set" "$LOCAL/pool.set"
target=$(target_set 1) pool=$LOCAL/pool.set

must client pmempool create obj --layout=rpmem_workload "$pool"
must workload run "$pool" --threads 2 --steps 3
must workload verify "$pool" --threads 2 --steps 3 --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"
# shellcheck disable=SC2046 # paths of test files hold no blanks
rm $(parts_of "$pool")
must client pmempool sync "$pool"
expect_same_bytes "$pool" "$target"
