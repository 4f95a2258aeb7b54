#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_resolver.sh COMMAND [ARGUMENT...]
#
# Runs COMMAND in a network namespace whose only name server is 127.0.0.1, for tests of a name
# server that does not answer. Exits with 77, which ctest reports as skipped, if the user may not
# create a namespace.
set -eu
here=$(dirname "$(readlink -f "$0")")

if [ -z "${RPMEM_TEST_IN_OWN_NETWORK:-}" ]; then
    exec "$here/own_mounts.sh" "$here/own_network.sh" "$0" "$@"
fi
files=$(mktemp -d)
mount -t tmpfs tmpfs "$files" # it is unmounted when the namespace ends
echo "nameserver 127.0.0.1
options timeout:30 attempts:2" >"$files/resolv.conf"
sed '/^hosts:/d' /etc/nsswitch.conf >"$files/nsswitch.conf"
echo "hosts: files dns" >>"$files/nsswitch.conf"
for file in resolv.conf nsswitch.conf; do
    mount --bind "$files/$file" "$(readlink -f "/etc/$file")"
done
exec "$@"
