#!/bin/bash
# without_libfabric.sh RPMEMD RPMEMCTL: loading libfabric takes a while, and it looks for devices.
# What needs neither lanes nor providers does not load it; what does need them shows that the look
# at the dynamic linker's words can fail.
set -eu

daemon=$1
ctl=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset RPMEMD_OFFER

# run STATUS COMMAND...: keeps what the dynamic linker says of it.
run() {
    local wanted=$1 status=0
    shift
    LD_DEBUG=libs "$@" >"$work/output" 2>&1 </dev/null || status=$?
    [ "$status" = "$wanted" ] || {
        printf '%s: status %s, not %s\n' "$*" "$status" "$wanted" >&2
        grep -v '^ *[0-9]*:' "$work/output" >&2
        exit 1
    }
}

names_libfabric() { grep -qF 'libfabric.so' "$work/output"; }

# with STATUS COMMAND..., without STATUS COMMAND...
with() {
    run "$@"
    names_libfabric || { echo "${*:2} has not loaded libfabric: is it looked for in vain?" >&2; exit 1; }
}

without() {
    run "$@"
    ! names_libfabric || { echo "${*:2} has loaded libfabric" >&2; exit 1; }
}

session=("$daemon" --config /dev/null --poolset-dir "$work" --log-file "$work/log")
with 1 env SSH_CONNECTION='127.0.0.1 1 127.0.0.1 22' "${session[@]}" # a session that ends at once
with 0 env RPMEM_ENABLE_VERBS=0 "$ctl" probe
without 0 "$daemon" --version
without 0 "$daemon" --help
without 2 "${session[@]}" --remove missing.set
