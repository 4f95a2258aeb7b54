#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests a stock libpmemobj program that is killed inside a transaction, with a real target. It fails
# if the target does not unlock the pool, or if the restarted program lacks a finished transaction,
# also when the local replica is lost and the pool is restored from the target's replica.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

remote_pool multi

# crash STEPS: kills the program within the last step.
crash() {
    local status=0
    workload crash "$pool" --threads 1 --steps "$1" || status=$?
    [ "$status" -eq 137 ] || fail "status $status, expected the program to be killed"
}

wait_until_all_free() {
    local replica
    for replica in $(parts_of "$target"); do
        wait_until_free
    done
}

step "killed, and started again"
must client pmempool create obj --layout=rpmem_workload "$pool"
crash 15
wait_until_all_free
must workload verify "$pool" --threads 1 --steps 14
must workload run "$pool" --threads 1 --steps 10
must workload verify "$pool" --threads 1 --steps 24 --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"

step "killed, and the local replica lost"
crash 15
wait_until_all_free
rm $(parts_of "$pool")
must client pmempool sync "$pool"
must workload verify "$pool" --threads 1 --steps 38 --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"
expect_usable 1 38 "$target" "$pool"
