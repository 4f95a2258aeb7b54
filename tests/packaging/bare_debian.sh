# SPDX-License-Identifier: BSD-3-Clause
# A Debian with nothing but what is essential, in a directory, for tests that install something. Sourced by
# bash with `set -eu -o pipefail`, as root; debootstrap takes its mirror from apt. Sets work, root and release;
# work is removed in the end, and root is in it unless the caller sets another one.
#
#   RPMEM_DEBIAN=NAME   the release, bookworm or trixie; default: that of this machine
# shellcheck shell=bash

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

fault() {
    printf '%s\n' "$*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || skip "only root can install packages"
command -v debootstrap >/dev/null || skip "debootstrap is missing: apt-get install debootstrap"
unshare --net --mount --pid --fork true 2>/dev/null || skip "this machine lets nobody make namespaces"
# shellcheck source=/dev/null
. /etc/os-release
work=$(mktemp -d "${TMPDIR:-/tmp}/rpmem-debian.XXXXXX")
root=$work/root
release=${RPMEM_DEBIAN:-$VERSION_CODENAME}
trap 'rm -rf --one-file-system "$work"' EXIT

# in_root [--net] COMMAND...: in the other Debian; with --net it has a network of its own, with loopback
# alone. All that it starts ends with it.
in_root() {
    local net=
    [ "$1" != --net ] || { net=$1 && shift; }
    # shellcheck disable=SC2016 # for the other shell
    unshare $net --mount --pid --fork --kill-child env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 ${proxy:+http_proxy="$proxy"} bash -eu -c '
            root=$1 net=$2
            shift 2
            mount -t proc proc "$root/proc"
            mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
            mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
            [ -z "$net" ] || ip link set lo up
            exec chroot "$root" "$@"' bash "$root" "$net" "$@" </dev/null
}

# The mirror from which apt of this machine takes Debian's own packages.
mirror_of_apt() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' |
        awk -v suite="$VERSION_CODENAME" '$2 == suite && $3 == "main" { print $1; exit }'
}

# What apt finds in the other Debian. Of the same release: all that apt of this machine has.
sources_of_root() {
    if [ "$release" = "$VERSION_CODENAME" ]; then
        apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
            'Created-By: Packages' 'Origin: Debian' | sort -u
    else
        printf 'deb %s %s main\n' "$1" "$release" "$1" "$release-updates"
    fi
}

# The other Debian starts no service.
make_root() {
    local mirror
    mirror=$(mirror_of_apt) || true
    [ -n "$mirror" ] || skip "apt knows no mirror of Debian $VERSION_CODENAME (apt-get update)"
    proxy=
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    ${proxy:+env http_proxy="$proxy"} debootstrap --variant=minbase "$release" "$root" \
        "$mirror" >"$work/log" 2>&1 || skip "debootstrap failed: $(tail -n 3 "$work/log" | tr '\n' ' ')"
    sources_of_root "$mirror" >"$root/etc/apt/sources.list"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # this Debian need not survive a power failure
    cp /etc/hosts "$root/etc/hosts"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    apt_get update
}

apt_get() {
    in_root apt-get -qq "$@" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fault "apt-get $* failed"; }
}
