#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# numbers.sh [TIMES]
#
# Measures the longest call during a fault and compares it with the promised time. Real sessions
# lose their daemon or their link. It fails if the median of a fault exceeds its limit, for example
# because a reconnect waits too long between attempts. Run it below two_networks.sh and with-sshd,
# on a machine without other load.
# shellcheck source=tests/survive/lib.sh
. "$(dirname "$0")/lib.sh"

if [ "${1:-}" = --fault ]; then # internal
    shift
    "$@"
    exit
fi
times=${1:-20}
gibibyte=$((1 << 30))
RPMEM_CLIENT_ENV="RPMEM_LOG_LEVEL=1" # all timeouts have their defaults
RPMEM_CMD=$(serve 1)
export RPMEM_CMD
missed=()

# calls POOL_SIZE RANGE_SIZE TIMES DELAY [FAULT...]: prints the output of slow_calls.
calls() {
    local size=$1 range=$2 count=$3 delay=$4
    shift 4
    rm -f "$RPMEM_TEST_DIR"/target1/parts/*
    write_set "$RPMEM_TEST_DIR/target1/sets/numbers.set" '' \
        "${size}B:$RPMEM_TEST_DIR/target1/parts/numbers"
    client "${RPMEM_SLOW_CALLS:?}" "$RPMEM_TEST_TARGET" numbers.set "$size" "$range" "$count" \
        "$delay" ${1:+"'$0' --fault $*"} || fail "slow_calls, while: $*"
}

# median NUMBER...: the numbers must be in ascending order.
median() {
    local index=$((($# + 1) / 2))
    echo "${!index}"
}

# tell WHAT MOST MICROSECONDS...: prints the median and its limit, and notes if it is exceeded.
tell() {
    local what=$1 most=$2 seen
    shift 2
    seen=$(median "$@")
    printf '%-44s %9s ms, %9s ms at most, of %s: %s to %s ms\n' "$what" $((seen / 1000)) \
        $((most / 1000)) $# $(($1 / 1000)) $((${!#} / 1000))
    [ "$seen" -le "$most" ] || missed+=("$what")
}

# login_times: prints the microseconds of $times logins in ascending order.
login_times() {
    local time began
    for ((time = 0; time < times; time++)); do
        began=${EPOCHREALTIME/./}
        "$RPMEM_SSH" -p "$RPMEM_TEST_SSH_PORT" "${RPMEM_TEST_TARGET%:*}" true </dev/null
        echo $((${EPOCHREALTIME/./} - began))
    done | sort -n | tr '\n' ' '
}

read -ra logins < <(login_times)
read -ra all < <(calls $((8 << 20)) 64 "$times" 200 kill_daemon)
tell "64 bytes, the daemon killed" $(($(median "${logins[@]}") + 100000)) "${all[@]}"
for seconds in 1 3 10; do
    read -ra all < <(calls $((8 << 20)) 64 5 200 drop both $seconds)
    tell "64 bytes, the link dropped for $seconds s" $(((2 * seconds + 1) * 1000000)) "${all[@]}"
done
size=$((gibibyte + 4096))
read -ra pushes < <(calls $size $gibibyte 5 0)
push=$(median "${pushes[@]}")
# An unacknowledged persist starts again in the new session, so the whole GiB is sent again.
{ read -r _ && read -ra all; } < <(calls $size $gibibyte 5 $((push / 2000)) kill_daemon)
tell "1 GiB, since the daemon was killed" $(($(median "${logins[@]}") + 100000 + push * 13 / 10)) \
    "${all[@]}"
printf 'ssh target true: %s ms; a push of 1 GiB: %s ms\n' $(($(median "${logins[@]}") / 1000)) \
    $((push / 1000))
[ ${#missed[@]} -eq 0 ] || fail "$(printf '%s; ' "${missed[@]}")"
