# SPDX-License-Identifier: BSD-3-Clause
# The session of a user with the packages, see debian_install.sh. It runs in the user's home, with
# only the variables of a login.
# shellcheck shell=bash
set -eu

fault() {
    printf '%s\n' "$*" >&2
    exit 1
}

! env | grep -E '^(RPMEM|PMEM|LD_)' || fault "these variables are set"
ssh -o BatchMode=yes localhost rpmemd --version | grep 'built as package librpmem ' ||
    fault "rpmemd --version does not name the package"
rpmemctl probe localhost || fault "rpmemctl probe finds fault"
rpmem-bench --version

# shellcheck source=tests/clients/remote_replicas.sh
. ./remote_replicas.sh
if reason=$(remote_replicas_refused); then
    echo "$reason"
    ! pmempool create obj --layout=rpmem_workload local.set || fault "a remote replica is not refused"
else
    pmempool create obj --layout=rpmem_workload local.set
    [ -s remote.part ] || fault "the target has no part"
    ./workload run local.set --threads 2 --steps 10
    rm local.part
    pmempool sync local.set
    ./workload verify local.set --threads 2 --steps 10
    pmempool rm --all local.set
    [ ! -e remote.part ] || fault "pmempool rm --all leaves the part of the target"
fi

# Run the program that was compiled against librpmem-dev, with both builds of the library.
directory=$(echo /usr/lib/*/pmdk_dbg)
for place in "" "$directory"; do
    rm -f example.part
    LD_DEBUG=libs LD_DEBUG_OUTPUT=libraries LD_LIBRARY_PATH=$place ./replicate localhost example.set
    loaded=${place:-${directory%/*}} # /lib is a link to /usr/lib
    grep -qsE "calling init: (/usr)?${loaded#/usr}/librpmem\.so\.1" libraries.* ||
        fault "librpmem.so.1 was not loaded from ${place:-${directory%/*}}"
    rm -f libraries.*
done
