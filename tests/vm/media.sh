# SPDX-License-Identifier: BSD-3-Clause
# Prepares the media of the target: an NVDIMM as a file system or as Device DAX, and a disk. Sourced
# by bash.
# shellcheck shell=bash

# namespace NUMBER MODE: makes an NVDIMM an fsdax or devdax namespace, unless it already is one.
namespace() {
    [ "$(ndctl list -n "namespace$1.0" | sed -n 's/.*"mode":"\([a-z]*\)".*/\1/p')" != "$2" ] ||
        return 0
    ndctl create-namespace -f -e "namespace$1.0" -m "$2" >/dev/shm/ndctl 2>&1 || {
        cat /dev/shm/ndctl
        return 1
    }
}

# file_system DEVICE DIRECTORY OPTION...: mounts ext4, and creates it if there is none.
file_system() {
    local device=$1 directory=$2
    shift 2
    mkdir -p "$directory"
    [ -n "$(blkid -o value -s TYPE "$device")" ] || mkfs.ext4 -q -b 4096 "$device" || return 1
    mount "$@" "$device" "$directory"
}
