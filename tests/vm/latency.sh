#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures the time of a persist over verbs in one virtual machine, beside ib_write_lat, ib_read_lat
# and bare libfabric. Everything is emulated, so only the quotients are meaningful. It has no
# limits, and fails only if a program fails.
#   RPMEM_LATENCY, RPMEM_TEST_DAEMON  the programs
. "$(dirname "$0")/lib.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1
[ -n "${RPMEM_TEST_TARGET:-}" ] || exec "$here/../support/with-sshd" "$0" "$@"
dir=$RPMEM_TEST_DIR

# perftest PROGRAM BYTES: prints a row with its typical and its shortest time.
perftest() {
    local program=$1 size=$2 server times=()
    "$program" -d rxe0 -F -s "$size" -n 1000 >"$dir/server" 2>&1 &
    server=$!
    # Wait for its port, 18515, because it prints its message later.
    until grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6 || ! kill -0 $server 2>/dev/null; do
        sleep 0.1
    done
    timeout 60 "$program" -d rxe0 -F -s "$size" -n 1000 "$RPMEM_TEST_ADDRESS" >"$dir/client" 2>&1
    kill $server 2>/dev/null
    wait $server
    mapfile -t times < <(awk -v size="$size" '$1 == size && NF >= 5 { print $5; print $3 }' "$dir/client")
    [ ${#times[@]} -eq 2 ] || {
        cat "$dir/client"
        return 1
    }
    printf '| %s, %s B | %.0f (%.0f) | | |\n' "$program" "$size" "${times[@]}"
}

# method NAME SPIN [OPTION...]: prints rows for a method. SPIN is the spin time of both ends in
# microseconds, OPTION is for the daemon.
method() {
    local name=$1 spin=$2
    shift 2
    printf 'PMEMPOOLSET\n8M %s/part0\n' "$dir" >"$dir/pool.set"
    rm -f "$dir/part0"
    RPMEM_SPIN_TIME=$spin RPMEM_LATENCY_METHOD=$name \
        RPMEM_CMD="PMEM_IS_PMEM_FORCE=1 $RPMEM_TEST_DAEMON --poolset-dir $dir --log-file $dir/log --spin-time $spin $*" \
        "$RPMEM_LATENCY" "$RPMEM_TEST_TARGET" "$RPMEM_TEST_ADDRESS"
}

printf '| what | µs | write and read by bare libfabric, µs | quotient |\n|---|---|---|---|\n'
for size in 64 4096; do
    perftest ib_write_lat $size || failed=1
    perftest ib_read_lat $size || failed=1
done
method "persist, APM" 1000000 --persist-apm || failed=1
method "persist, GPSPM" 1000000 || failed=1
method "persist, APM, not spinning for long" 50 --persist-apm || failed=1
finish
