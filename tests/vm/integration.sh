#!/bin/bash
# integration.sh FILTER...: in one machine, the tests of tests/integration over verbs. One run of the
# program for each filter; "6:FILTER" has it use IPv6.
#   RPMEM_INTEGRATION_TESTS, RPMEM_TEST_DAEMON  the programs
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1 RPMEM_TEST_ADDRESS6=fd07::1
[ -n "${RPMEM_TEST_TARGET:-}" ] || exec "$here/../support/with-sshd" "$0" "$@"

integration() {
    local target=$RPMEM_TEST_TARGET
    case $1 in 6:*) target=$RPMEM_TEST_TARGET6 ;; esac
    RPMEM_TEST_TARGET=$target "$here/../integration/run_tests.sh" \
        "$RPMEM_INTEGRATION_TESTS" "$RPMEM_TEST_DAEMON" "--gtest_filter=${1#6:}"
}

for filter; do
    step "$filter" integration "$filter"
done
finish
