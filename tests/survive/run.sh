#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh REPLICAS TIMES:FAULT...
#
# Tests that a program survives the loss of sessions. A stock libpmemobj makes transactions on a
# pool with REPLICAS remote replicas, while each fault of lib.sh happens TIMES times in random
# order. A comma in FAULT stands for a blank. It fails if the program gets an error or does not
# continue within 30 s, or if a replica lacks a step that the program counted. Run it below
# tests/support/with-sshd, and with faults of the link also below two_networks.sh.
# shellcheck source=tests/survive/lib.sh
. "$(dirname "$0")/lib.sh"

replicas=$1
shift
faults=()
for wanted in "$@"; do
    for ((i = 0; i < ${wanted%%:*}; i++)); do
        faults+=("${wanted#*:}")
    done
done

make_pool "$replicas"
begin_work
for fault in $(shuf -e -- "${faults[@]}"); do
    suffer ${fault//,/ }
    sleep "0.$((RANDOM % 5))"
done
end_work
expect_survived "$replicas"
print_resumed
