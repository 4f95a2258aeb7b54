#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# probes.sh LIBRARY DAEMON SOURCE_DIR
#
# Tests the USDT probes in the built library and daemon: their names and numbers of arguments, and
# that the scripts of contrib/bpftrace use exactly these. It fails if a probe is missing, renamed or
# stripped, or if bpftrace 0.17 does not accept a script. Exits with 77 without <sys/sdt.h>, because
# then the build has no probes.
set -u

library=$1 daemon=$2 source_dir=$3
failed=0
fault() {
    printf '%s\n' "$*" >&2
    failed=1
}

# probes_in FILE: prints a line for each probe: PROVIDER:NAME ARGUMENTS
probes_in() {
    readelf -nW "$1" | awk '
        sub(/^.*Provider: /, "") { provider = $1 }
        $1 == "Name:" { name = $2 }
        $1 == "Arguments:" { print provider ":" name, NF - 1 }' | sort -u
}

# expect FILE LINE...: expects exactly these probes.
expect() {
    local file=$1 seen wanted
    shift
    seen=$(probes_in "$file") wanted=$(printf '%s\n' "$@" | sort)
    [ "$seen" = "$wanted" ] || fault "the probes of $file are not those that were expected:" \
        "$(diff <(echo "$wanted") <(echo "$seen"))"
}

# used_by SCRIPT FILE: expects the script to use exactly the probes of FILE.
used_by() {
    local used there
    used=$(sed -nE 's/^usdt:\$1:([a-z_]+:[a-z_]+)$/\1/p' "$1" | sort -u)
    there=$(probes_in "$2" | cut -d ' ' -f 1 | sort -u)
    [ -n "$used" ] && [ "$used" = "$there" ] ||
        fault "$1 does not use the probes of $2:" "$(diff <(echo "$there") <(echo "$used"))"
}

if ! echo '#include <sys/sdt.h>' | "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1; then
    echo "skipped: there is no <sys/sdt.h> (Debian package systemtap-sdt-dev)"
    exit 77
fi
expect "$library" 'librpmem:persist 3' 'librpmem:persist_done 3' 'librpmem:drain 1' \
    'librpmem:drain_done 2' 'librpmem:reconnect 2'
expect "$daemon" 'rpmemd:durable 2' 'rpmemd:acknowledge 2'
scripts=$source_dir/contrib/bpftrace
used_by "$scripts/rpmem-initiator.bt" "$library"
used_by "$scripts/rpmem-target.bt" "$daemon"
# Installed files are stripped, and must keep the probes.
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
objcopy --strip-unneeded "$library" "$stripped"
[ "$(probes_in "$stripped")" = "$(probes_in "$library")" ] || fault "without symbols there are no probes"
# Only the language is checked, because attaching needs root and a kernel with BPF. bpftrace prints
# this text after it has understood a script.
understood='AST after: Semantic'
if bpftrace -d -e 'BEGIN { exit(); }' 2>/dev/null | grep -q "$understood"; then
    for pair in "rpmem-initiator.bt $library" "rpmem-target.bt $daemon"; do
        read -r script file <<<"$pair"
        said=$(bpftrace -d "$scripts/$script" "$file" 2>&1) || true
        grep -q "$understood" <<<"$said" || fault "bpftrace does not understand $script:" "$said"
    done
else
    echo "bpftrace (Debian package bpftrace) is not here, or not 0.17: it has not read the scripts"
fi
[ $failed = 0 ] && echo "each probe is where the scripts look for it"
exit $failed
