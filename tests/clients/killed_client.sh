#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# killed_client.sh: the program is killed inside a transaction. The target lets go of the pool; the
# program, started again, finds every transaction that had ended; so it does if its machine is
# lost as well and all that remains is the target's replica.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

remote_pool multi

# crash STEPS: the last of them is not completed.
crash() {
    local status=0
    workload crash "$pool" --threads 1 --steps "$1" || status=$?
    [ "$status" -eq 137 ] || fail "status $status, expected the program to be killed"
}

# The target's session ends when it sees the end of the ssh channel, which is a little later.
wait_until_free() {
    local attempt part
    for part in $(parts_of "$target"); do
        for ((attempt = 0; attempt < 100; attempt++)); do
            flock --nonblock "$part" true && continue 2
            sleep 0.1
        done
        fail "$part is still locked 10 s after the client's death"
    done
}

step "killed, and started again"
must client pmempool create obj --layout=rpmem_workload "$pool"
crash 15
wait_until_free
must workload verify "$pool" --threads 1 --steps 14
must workload run "$pool" --threads 1 --steps 10
must workload verify "$pool" --threads 1 --steps 24 --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"

step "killed, and the local replica lost"
crash 15
wait_until_free
rm $(parts_of "$pool")
must client pmempool sync "$pool"
must workload verify "$pool" --threads 1 --steps 38 --extents "$LOCAL/extents"
expect_same_objects "$pool" "$target" "$LOCAL/extents"
expect_usable 1 38 "$target" "$pool"
