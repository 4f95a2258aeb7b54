# SPDX-License-Identifier: BSD-3-Clause
# The media of the target: an NVDIMM as a file system and as Device DAX, and a disk. Sourced; needs bash.
# shellcheck shell=bash

# namespace NUMBER MODE: all of an NVDIMM, as fsdax or devdax; what it is already, it stays.
namespace() {
    [ "$(ndctl list -n "namespace$1.0" | sed -n 's/.*"mode":"\([a-z]*\)".*/\1/p')" != "$2" ] ||
        return 0
    ndctl create-namespace -f -e "namespace$1.0" -m "$2" >/dev/shm/ndctl 2>&1 || {
        cat /dev/shm/ndctl
        return 1
    }
}

# file_system DEVICE DIRECTORY OPTION...: ext4, made if there is none.
file_system() {
    local device=$1 directory=$2
    shift 2
    mkdir -p "$directory"
    [ -n "$(blkid -o value -s TYPE "$device")" ] || mkfs.ext4 -q -b 4096 "$device" || return 1
    mount "$@" "$device" "$directory"
}
