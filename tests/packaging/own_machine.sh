#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_machine.sh SOURCES BUILD COMMAND [ARGUMENT...]
#
# Runs COMMAND in namespaces, for tests that change the machine: with an empty home directory and an
# empty /mnt, temporary copies of /etc and /usr/local, and a network with only loopback, where this
# machine also has the name "target". Exits with 77, which ctest reports as skipped, if this is not
# possible.
set -eu

if [ -z "${RPMEM_TEST_OWN_MACHINE:-}" ]; then
    # The daemon accepts parts only below directories of root or its user. In a user namespace, root
    # of the host would be another user.
    [ "$(id -u)" -eq 0 ] && unshare --mount --net true 2>/dev/null || {
        echo "skipped: this needs root, and the right to make namespaces (unshare --mount --net)"
        exit 77
    }
    RPMEM_TEST_OWN_MACHINE=$(mktemp -d)
    export RPMEM_TEST_OWN_MACHINE
    trap 'rm -rf "$RPMEM_TEST_OWN_MACHINE"' EXIT
    unshare --mount --net --propagation private "$0" "$@" && status=0 || status=$?
    exit "$status"
fi

sources=$1
build=$2
shift 2
layers=$RPMEM_TEST_OWN_MACHINE
home=$(getent passwd "$(id -u)" | cut -d: -f6)
mount -t tmpfs tmpfs "$layers"
mkdir "$layers/sources" "$layers/build"
mount --bind "$sources" "$layers/sources"
mount --bind "$build" "$layers/build"
for place in /etc /usr/local; do
    name=${place##*/}
    mkdir "$layers/$name" "$layers/$name.work"
    mount -t overlay overlay \
        -o "lowerdir=$place,upperdir=$layers/$name,workdir=$layers/$name.work" "$place" 2>/dev/null || {
        echo "skipped: this kernel has no overlay file system"
        exit 77
    }
done
for place in "$home" /mnt; do
    mount -t tmpfs -o mode=0755 tmpfs "$place"
done
# Sources and build may have been in the home directory.
mkdir -p "$sources" "$build"
mount --bind "$layers/sources" "$sources"
mount --bind "$layers/build" "$build"

ip link set lo up
echo "127.0.0.1 target" >>/etc/hosts
export HOME=$home
cd "$home"
exec "$@"
