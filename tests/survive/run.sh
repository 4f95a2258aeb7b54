#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh REPLICAS TIMES:FAULT...: a program makes transactions on a pool with so many remote replicas,
# while each fault of lib.sh happens so many times; a comma in it stands for a blank. The program must see
# no error, and each replica must have all that it counted. Run below tests/support/with-sshd; faults
# of the link also below two_networks.sh.
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
