#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# scripts.sh SOURCES CMAKE
#
# Tests what tools/quickstart and tools/test do before they build. Scripts replace apt-get, cmake
# and other programs, so that nothing is installed or built. It fails if a wrong option is accepted
# or reported too late, or if the installation of packages starts a service.
set -u

sources=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/sources/tests"
cp -r "$sources/tools" "$work/sources"
calls=$work/calls
failed=0

fault() {
    printf '%s\n' "$*" >&2
    [ ! -s "$work/output" ] || sed 's/^/    /' "$work/output" >&2
    failed=1
}

# stand_in NAME [LINE...]: makes a script that records its calls.
stand_in() {
    printf '%s\n' '#!/bin/sh' "echo \"$1 \$*\" >>'$calls'" "${@:2}" >"$work/bin/$1"
    chmod 755 "$work/bin/$1"
}
policy=$work/policy-rc.d
stand_in sudo 'exec "$@"'
stand_in dpkg-query 'exit 1'
stand_in systemctl 'exit 1' # fails like on a machine without systemd
stand_in apt-get "[ ! -x '$policy' ] || echo services are denied >>'$calls'"
stand_in cmake 'echo cmake was called; exit 1'

# run STATUS COMMAND...: expects this status.
run() {
    local wanted=$1 status=0
    shift
    : >"$calls"
    PATH=$work/bin:$PATH timeout 60 "$@" >"$work/output" 2>&1 </dev/null || status=$?
    [ "$status" = "$wanted" ] || fault "$*: status $status, not $wanted"
}

# refused STATUS TEXT SCRIPT WORD...: expects the script to fail with TEXT before it installs or
# builds.
refused() {
    run "$1" "$work/sources/tools/$3" "${@:4}"
    grep -qF -- "$2" "$work/output" || fault "${*:3}: the text does not say: $2"
    ! grep -qE '^(apt-get|cmake)' "$calls" || fault "${*:3}: something was installed or built"
}
refused 2 "there is no option --wrong" quickstart --wrong
refused 2 "there is no preset wrong" test wrong
refused 2 "an option --wrong" test --wrong
refused 2 "an option --wrong" test debug -R name --wrong=1
refused 2 "no word like 'name'" test debug name
refused 2 "-R needs a value" test debug -R
refused 1 "a regular expression" test release -R '*'
refused 1 "build/release is not" test -N

run 1 "$work/sources/tools/quickstart"
[ "$(grep -nE '^(Building takes|cmake was)' "$work/output" | cut -d: -f2 | cut -c -10 | tr '\n' ,)" = \
    "Building t,cmake was ," ] || fault "the estimate does not stand before the build"

run 0 env LC_ALL=xx_XX bash -c ". '$work/sources/tools/support.sh' && bash -c true && bash -c true"
[ "$(grep -c 'setlocale' "$work/output")" = 1 ] || fault "an unknown locale is not warned of once"

run 0 bash -eu -c ". '$work/sources/tools/support.sh'; policy_rc_d='$policy'; install_packages run"
grep -qx 'services are denied' "$calls" || fault "services may start while packages are installed"
grep -qx 'systemctl --quiet disable ssh.service' "$calls" || fault "ssh.service stays enabled"
[ ! -e "$policy" ] || fault "policy-rc.d is left"

: >"$work/output"
"$cmake" -S "$sources" -B "$work/build" -DRPMEM_BUILD_TESTS=AUTO \
    -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON >"$work/output" 2>&1 ||
    fault "cmake fails where a package that only tests need is missing"
grep -q 'The tests are left out' "$work/output" || fault "cmake does not say that the tests are left out"
exit $failed
