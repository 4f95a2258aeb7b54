#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# arm64.sh SOURCES [ROOT]: the copies by whole words and their flushes, cross-compiled for AArch64 with Debian's
# toolchain and run by qemu-user. It fails where they assume x86-64, or where libpmem flushes otherwise there.
#
# qemu-user translates the instructions and leaves stores to this machine. So the bytes that a copy writes are
# shown. The order in which another processor or the medium sees the stores is not.
#
# As root. The Debian with the toolchain is made in ROOT and stays there; default: a temporary directory.
set -eu -o pipefail
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

sources=$1
root=${2:-${root:?}}
complete=$root/root/complete # the last file that is made

make_toolchain() {
    make_root
    in_root dpkg --add-architecture arm64
    apt_get update
    apt_get install --yes --no-install-recommends g++-aarch64-linux-gnu qemu-user-static libexpected-dev \
        libfmt-dev:arm64 libgtest-dev:arm64 libpmem-dev:arm64
}

copy_sources() {
    rm -rf "$root/root/librpmem"
    mkdir -p "$root/root/librpmem"
    tar -C "$sources" -c common rpmemd/durability tests/support tests/unit/rpmemd/durability |
        tar -C "$root/root/librpmem" -x
}

# in_sources COMMAND...: in the other Debian.
in_sources() {
    # shellcheck disable=SC2016 # for the other shell
    in_root bash -c 'cd /root/librpmem && exec "$@"' bash "$@" >"${work:?}/log" 2>&1 ||
        { tail -n 40 "$work/log" >&2; fault "failed for arm64: $*"; }
}

if [ ! -e "$complete" ]; then
    rm -rf --one-file-system "$root"
    make_toolchain
    touch "$complete"
fi
proxy=
copy_sources
in_sources aarch64-linux-gnu-g++ -std=c++20 -O1 -I. -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -o copies \
    rpmemd/durability/streamed_copy.cpp tests/unit/rpmemd/durability/streamed_copy_test.cpp \
    -lgtest -lgtest_main -lpmem -lpthread
readelf -h "$root/root/librpmem/copies" | grep -q 'Machine: *AArch64' || fault "this is no program for AArch64"
# Flushes to the point of coherency (dc cvac), then none. Before 8.1, qemu-user does not know those to the point of
# persistence (dc cvap), which later processors than this one have.
for flush in 0 1; do
    in_sources env "PMEM_NO_FLUSH=$flush" qemu-aarch64-static -cpu cortex-a57 ./copies
    passed=$(grep -F 'PASSED' "$work/log")
    [[ $passed =~ \]\ +[1-9] ]] || fault "no test ran: $passed"
    echo "PMEM_NO_FLUSH=$flush: $passed, after $SECONDS s"
done
