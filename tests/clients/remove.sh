#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# remove.sh GEOMETRY
#
# Tests pmempool rm of a pool with a remote replica on a real target. It fails if a part is left, if
# a part in use or a pool set file is removed without the option for it, or if the stock program
# does not print the library's error.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

remote_pool "$1"

create() {
    must client pmempool create obj --layout=rpmem_workload "$pool"
    expect_parts "$pool"
    expect_parts "$target"
}

# librpmem 1.12.1 does not print its errors.
if [ "$RPMEM_CLIENT_LIBDIR" != "${RPMEM_PEER_DIR:-}/lib" ]; then
    step "a stock program that fails tells the reason on standard error, in one line"
    RPMEM_SSH=/nonexistent/ssh must_fail client pmempool create obj "$pool" 2>"$LOCAL/errors"
    [ "$(grep -c '^librpmem\[' "$LOCAL/errors")" = 1 ] || fail "not one line: $(cat "$LOCAL/errors")"
    grep -q '^librpmem\[[0-9]*\]: error: .*/nonexistent/ssh' "$LOCAL/errors" ||
        fail "no reason: $(cat "$LOCAL/errors")"
    RPMEM_LOG_FILE=$LOCAL/missing/log RPMEM_SSH=/nonexistent/ssh must_fail \
        client pmempool create obj "$pool" 2>"$LOCAL/errors"
    grep -q '^librpmem\[[0-9]*\]: error: RPMEM_LOG_FILE: cannot open .*/missing/log' "$LOCAL/errors" ||
        fail "the log file is not complained of: $(cat "$LOCAL/errors")"
    [ ! -e "$LOCAL/missing" ] || fail "a directory was made for the log"
    rm "$LOCAL/errors"
    client pmempool rm -f "$pool"
fi

step "the parts only ($1)"
create
must client pmempool rm "$pool"
expect_no_parts "$pool"
expect_no_parts "$target"
if [ ! -f "$pool" ] || [ ! -f "$target" ]; then fail "a pool set file is gone"; fi

step "a client of 1.12.1, for which any output is an error"
create
output=$(env -u RPMEMD_OFFER sh -c "$RPMEM_CMD --remove pool.set") || fail "the pool is not removed"
[ -z "$output" ] || fail "the daemon prints $output"
expect_no_parts "$target"
must client pmempool rm -f "$pool"
if [ "$RPMEM_DAEMON" != "${RPMEM_PEER_DIR:-}/bin/rpmemd" ]; then # the options are those of this version
    status=0
    output=$(env -u RPMEMD_OFFER SSH_ORIGINAL_COMMAND='rpmemd --remove pool.set' \
        sh -c "$RPMEM_CMD --restricted" 2>"$LOCAL/errors") || status=$?
    [ "$status" = 13 ] || fail "status $status of a removal that is refused: $(cat "$LOCAL/errors")"
    [ -z "$output" ] || fail "the daemon prints its refusal to standard output"
    rm "$LOCAL/errors"
fi

step "a part that somebody holds"
create
exec {held}<"$(parts_of "$target" | tail -n 1)"
must flock --nonblock "$held"
must_fail client pmempool rm "$pool"
exec {held}<&-
[ -f "$(parts_of "$target" | tail -n 1)" ] || fail "a part in use was removed"

step "what is left, by force"
must client pmempool rm -f "$pool"
expect_no_parts "$pool"
expect_no_parts "$target"
must_fail client pmempool rm "$pool"
must client pmempool rm -f "$pool"

step "everything"
create
must client pmempool rm -a "$pool"
# The records of sessions belong to the user, not to the pool.
left=$(find "$LOCAL" "$RPMEM_TEST_DIR/target1" -type f ! -path '*/state/*' ! -name rpmemd.log \
    ! -name alone.set)
[ -z "$left" ] || fail "left after pmempool rm -a: $left"
