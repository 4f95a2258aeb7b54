# SPDX-License-Identifier: BSD-3-Clause
# Makes a minimal Debian in a directory, for tests that install something. Sourced by bash with
# `set -eu -o pipefail`, as root. debootstrap uses the mirror of apt. Sets work, root and release.
# work is removed at the end. root is in it unless the caller sets another one.
#
#   RPMEM_DEBIAN=NAME   the release: bookworm, trixie, or `other` for the one that this machine does
#                       not have; default: that of this machine
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
[ "$release" != other ] || case $VERSION_CODENAME in
bookworm) release=trixie ;;
*) release=bookworm ;;
esac
trap 'rm -rf --one-file-system "$work"' EXIT

# in_root [--net] COMMAND...: runs COMMAND in the other Debian. With --net it has a network
# namespace with only loopback. Processes that it leaves are killed.
in_root() {
    local net=
    [ "$1" != --net ] || { net=$1 && shift; }
    # shellcheck disable=SC2016 # for the other shell
    unshare $net --mount --pid --fork --kill-child env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 ${proxy:+http_proxy="$proxy"} bash -eu -c '
            root=$1 net=$2
            shift 2
            mount --bind "$root" "$root" # a mount point, in which a test may make namespaces of its own
            mount -t proc proc "$root/proc"
            mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
            mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
            [ -z "$net" ] || ip link set lo up
            exec chroot "$root" "$@"' bash "$root" "$net" "$@" </dev/null
}

# Prints the mirror that apt of this machine uses for packages of Debian.
mirror_of_apt() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' |
        awk -v suite="$VERSION_CODENAME" '$2 == suite && $3 == "main" { print $1; exit }'
}

# sources_of_root MIRROR: prints the sources of apt for the other Debian. For the same release,
# these are all sources of this machine.
sources_of_root() {
    if [ "$release" = "$VERSION_CODENAME" ]; then
        apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
            'Created-By: Packages' 'Origin: Debian' | sort -u
    else
        printf 'deb %s %s main\n' "$1" "$release" "$1" "$release-updates"
    fi
}

# Makes the other Debian, in which no service starts.
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

# keep_root NAME: keeps root in ~/.cache/rpmem (XDG_CACHE_HOME) for the next run, and locks it.
# Returns 1 if it must be made. Then call root_is_complete when it has all its packages.
keep_root() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpmem
    mkdir -p "$cache"
    exec 9>"$cache/$1.lock"
    flock --timeout 600 9 || fault "another run has had $cache/$1 for 600 s"
    root=$cache/$1
    [ ! -e "$root/root/complete" ] || return 0
    rm -rf --one-file-system "$root"
    return 1
}

root_is_complete() {
    touch "$root/root/complete"
}

# copy_sources SOURCES: copies the files of git to /root/librpmem of root. Builds of the same
# directory stay there. Builds of another one are removed, because its files may be newer than
# these.
copy_sources() {
    local copy=$root/root/librpmem
    mkdir -p "$copy"
    [ "$(cat "$root/root/sources" 2>/dev/null)" = "$1" ] || rm -rf "$copy/build"
    find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    (cd "$1" && git -c safe.directory="*" ls-files -z | tar --null --files-from=- -c) | tar -C "$copy" -x
    echo "$1" >"$root/root/sources"
}
