#!/bin/bash
# replicas.sh METHOD:MIB:LANES[:6]...: replicas over verbs, see lib.sh. In one machine, or in the first
# of two.
#   RPMEM_REPLICA, RPMEM_TEST_DAEMON  the programs
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1 RPMEM_TEST_ADDRESS6=fd07::1
[ -n "${RPMEM_TEST_TARGET:-}" ] || exec "$here/../support/with-sshd" "$0" "$@"

for words; do
    # shellcheck disable=SC2086 # the words between the colons
    step "$words" replica ${words//:/ }
done
finish
