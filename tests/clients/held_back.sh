# SPDX-License-Identifier: BSD-3-Clause
# Functions of scenarios in which a program is killed between the local and the remote persist, after
# lib.sh. Sourced by bash.
# shellcheck shell=bash
#
# From the scenario:
#   part, replica, pool  the part of the program, that of the target, and the pool set file
#   held_back            the library of held_back.c
#   out                  a file for the output of the program

# keep_base: fresh() restores what both sides are now.
keep_base() {
    wait_until_free
    cp --sparse=always "${part:?}" "$LOCAL/base"
    cp --sparse=always "${replica:?}" "$LOCAL/base_replica"
}

# fresh: both sides are as at keep_base. libpmemobj 1.12.1 cannot always restart after several kills, also
# without a replica: a kill between the header and the footer of a chunk of its heap makes a later
# allocation fail by SIGSEGV. The replica keeps its time of modification, because the daemon would take
# another one for the change of another program.
fresh() {
    wait_until_free
    cp --sparse=always "$LOCAL/base" "$part"
    touch --reference="$replica" "$LOCAL/time"
    cp --sparse=always "$LOCAL/base_replica" "$replica"
    touch --reference="$LOCAL/time" "$replica"
}

# killed_at CALL THREADS STEPS: runs the program, which dies before the range of its call number CALL is
# sent.
killed_at() {
    local status=0
    RPMEM_CLIENT_PRELOAD="${RPMEM_CLIENT_PRELOAD:-} ${held_back:?}" RPMEM_HELD_BACK_CALL=$1 \
        workload run "${pool:?}" --threads "$2" --steps "$3" >"${out:?}" 2>&1 || status=$?
    [ "$status" -eq 137 ] ||
        fail "status $status at call $1, expected the program to be killed: $(cat "$out")"
    wait_until_free
}
