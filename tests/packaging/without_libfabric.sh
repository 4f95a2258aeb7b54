#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# without_libfabric.sh RPMEMD RPMEMCTL REPLICATE
#
# Tests that only verbs and sockets load libfabric, with real sessions and programs below with-sshd.
# Loading it takes a while and searches for devices, and tcp must work on machines without it. The
# test reads the messages of the dynamic linker. It fails if a program or a session over tcp loads
# libfabric or a library of it, or if a session that needs it does not say that it is missing.
set -eu

daemon=$1
ctl=$2
replicate=$3
work=$RPMEM_TEST_DIR
unset RPMEMD_OFFER RPMEM_ENABLE_TCP RPMEM_ENABLE_SOCKETS LD_LIBRARY_PATH
# With a device, verbs would be used.
[ -z "$(ls /sys/class/infiniband 2>/dev/null)" ] || export RPMEM_ENABLE_VERBS=0

# The dynamic linker finds this file first and cannot load it, like on a machine without libfabric.
mkdir "$work/missing"
: >"$work/missing/libfabric.so.1"
without_it=LD_LIBRARY_PATH=$work/missing

fault() {
    printf '%s\n' "$*" >&2
    grep -hv '^ *[0-9]*:' "$work/output" >&2 || true
    exit 1
}

# run STATUS COMMAND...: keeps the output, with the messages of the dynamic linker.
run() {
    local wanted=$1 status=0
    shift
    LD_DEBUG=libs "$@" >"$work/output" 2>&1 </dev/null || status=$?
    [ "$status" = "$wanted" ] || fault "$*: status $status, not $wanted"
}

names_libfabric() { grep -qE 'libfabric\.so|libpsm|libinfinipath' "$@"; }

# with STATUS COMMAND..., without STATUS COMMAND...: expect that COMMAND loads libfabric, or does
# not.
with() {
    run "$@"
    names_libfabric "$work/output" || fault "${*:2} has not loaded libfabric: is it looked for in vain?"
}

without() {
    run "$@"
    ! names_libfabric "$work/output" || fault "${*:2} has loaded libfabric"
}

says() {
    grep -qF -- "$1" "$work/output" || fault "not said: $1"
}

# session NAME STATUS SETTING... -- DAEMON_SETTING...: runs a session with a new pool. The messages
# of the dynamic linker are in client.NAME.* and daemon.NAME.*.
session() {
    local name=$1 wanted=$2 status=0 ours=()
    shift 2
    while [ "$1" != -- ]; do
        ours+=("$1")
        shift
    done
    shift
    printf 'PMEMPOOLSET\n32M %s\n' "$work/$name.part0" >"$work/$name.set"
    env "${ours[@]}" LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/client.$name" \
        RPMEM_CMD="env LD_DEBUG=libs LD_DEBUG_OUTPUT=$work/daemon.$name $* $daemon --config /dev/null \
            --sockets --poolset-dir $work --log-file $work/log" \
        timeout 60 "$replicate" "$RPMEM_TEST_TARGET" "$name.set" \
        >"$work/output" 2>&1 </dev/null || status=$?
    [ "$status" = "$wanted" ] || fault "session $name: status $status, not $wanted"
    rm -f "$work/$name.part0"
}

by_sockets="RPMEM_ENABLE_TCP=0 RPMEM_ENABLE_SOCKETS=1 RPMEM_ENABLE_VERBS=0"

sessions() {
    local end
    session tcp 0 --
    session tcp_alone 0 "$without_it" -- "$without_it"
    # shellcheck disable=SC2086 # several settings
    session sockets 0 $by_sockets --
    for end in client daemon; do
        ls "$work/$end".tcp.* "$work/$end".tcp_alone.* >/dev/null
        ! names_libfabric "$work/$end".tcp.* || fault "the $end of a session over tcp has loaded libfabric"
        ! names_libfabric "$work/$end".tcp_alone.* || fault "the $end without libfabric has looked for it"
        names_libfabric "$work/$end".sockets.* || fault "the $end over sockets has not loaded libfabric"
    done
    # shellcheck disable=SC2086
    session no_client 1 $by_sockets "$without_it" --
    says 'cannot load libfabric.so.1'
    says 'apt-get install libfabric1'
    # shellcheck disable=SC2086
    session no_daemon 1 $by_sockets -- "$without_it"
    says 'cannot load libfabric.so.1'
}

programs() {
    local daemon_session=("$daemon" --config /dev/null --poolset-dir "$work" --log-file "$work/log")
    without 1 env SSH_CONNECTION='127.0.0.1 1 127.0.0.1 22' "${daemon_session[@]}" # a session that ends at once
    without 0 "$daemon" --version
    without 0 "$daemon" --help
    without 2 "${daemon_session[@]}" --remove missing.set
    with 0 env RPMEM_ENABLE_VERBS=0 "$ctl" probe
    run 0 env RPMEM_ENABLE_SOCKETS=1 "$without_it" "$ctl" probe
    says 'libfabric missing'
    says 'Pools can use tcp.'
    says 'no: cannot load libfabric.so.1'
}

programs
sessions
