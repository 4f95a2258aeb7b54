#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# privileged_program.sh PROGRAM LIBRARY
#
# Tests librpmem in a real set-user-ID program: each call must fail with EPERM, and nothing may be
# started, loaded or written. It fails if the library uses the environment of the caller with the
# rights of the owner. It needs root, to make a program of another user.
set -eu
program=$1
library=$2
owner=65534   # nobody
ordinary=1    # the user who starts it

skip() {
    echo "skipped: $*"
    exit 77
}

[ "$(id -u)" = 0 ] || skip "only root can make a set-user-ID program of another user"
command -v setpriv >/dev/null || skip "setpriv is not here (Debian package util-linux)"

directory=
trap '[ -z "$directory" ] || rm -rf "$directory"' EXIT

# Copies all files to a directory that every user can read.
prepare() {
    directory=$(mktemp -d "$1/rpmem-privileged-XXXXXX") || return 1
    chmod 755 "$directory"
    mkdir -m 1777 "$directory/marks"
    install -m 755 "$program" "$directory/program"
    install -m 755 "$(readlink -f "$library")" "$directory/library.so"
    printf '#!/bin/sh\ntouch %s/marks/ssh\nexit 255\n' "$directory" >"$directory/ssh"
    chmod 755 "$directory/ssh"
}

# Runs the program and prints its output. The environment has variables that an attacker could set.
run() {
    # LeakSanitizer cannot examine such a process.
    env ASAN_OPTIONS=detect_leaks=0 RPMEM_ENABLE_VERBS=0 RPMEM_SSH="$directory/ssh" \
        RPMEM_LOG_LEVEL=4 RPMEM_LOG_FILE="$directory/marks/log" \
        setpriv --reuid="$ordinary" --regid="$ordinary" --clear-groups \
        "$directory/program" "$directory/library.so"
}

fail() {
    printf '%s\n' "$1" "$2" >&2
    exit 1
}

for place in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
    prepare "$place" || continue
    # Without the set-user-ID bit the library must use the environment. Otherwise the test would
    # prove nothing.
    usual=$(run)
    grep -q '^AT_SECURE 0$' <<<"$usual" || fail "the usual program has special rights:" "$usual"
    [ -e "$directory/marks/ssh" ] || fail "RPMEM_SSH was not started:" "$usual"
    ! grep -q EPERM <<<"$usual" || fail "a usual program is refused:" "$usual"
    rm -f "$directory"/marks/*

    chown "$owner:$owner" "$directory/program"
    chmod 4755 "$directory/program"
    seen=$(run)
    if grep -q '^AT_SECURE 0$' <<<"$seen"; then # mounted with nosuid
        rm -rf "$directory"
        directory=
        continue
    fi
    for call in create open remove; do
        grep -q "^$call EPERM .*AT_SECURE" <<<"$seen" || fail "$call is not refused:" "$seen"
    done
    grep -q '^libfabric not loaded$' <<<"$seen" || fail "libfabric is loaded:" "$seen"
    left=$(ls "$directory/marks")
    [ -z "$left" ] || fail "something was started or written: $left" "$seen"
    exit 0
done
skip "no directory for a set-user-ID program (mounted with nosuid, or no_new_privs is set)"
