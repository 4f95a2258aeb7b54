#!/bin/bash
# kernel_symbols.sh RPMEMD: libfabric, in the daemon, opens files with the daemon's own fopen(3); see
# rpmemd/kernel_symbols.cpp.
set -eu
bindings=$(LD_DEBUG=bindings "$1" --probe 2>&1 >/dev/null | grep 'libfabric.*fopen' || true)
grep -qE "/rpmemd \[0\]: normal symbol .fopen'" <<<"$bindings" || {
    printf "libfabric's fopen is not the daemon's:\n%s\n" "${bindings:-it is not bound at all}" >&2
    exit 1
}
