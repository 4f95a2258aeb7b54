#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# own_resolver.sh COMMAND [ARGUMENT...]: runs COMMAND in a network of its own, where names are looked
# up at 127.0.0.1. 77: this user may not make one.
set -eu
here=$(dirname "$(readlink -f "$0")")

if [ -z "${RPMEM_TEST_IN_OWN_NETWORK:-}" ]; then
    exec "$here/own_mounts.sh" "$here/own_network.sh" "$0" "$@"
fi
files=$(mktemp -d)
mount -t tmpfs tmpfs "$files" # ends with the namespace
echo "nameserver 127.0.0.1
options timeout:30 attempts:2" >"$files/resolv.conf"
sed '/^hosts:/d' /etc/nsswitch.conf >"$files/nsswitch.conf"
echo "hosts: files dns" >>"$files/nsswitch.conf"
for file in resolv.conf nsswitch.conf; do
    mount --bind "$files/$file" "$(readlink -f "/etc/$file")"
done
exec "$@"
