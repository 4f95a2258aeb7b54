#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# other_release.sh SOURCES PRESET [CTEST-OPTION...]: builds and tests SOURCES in the other release of Debian that is
# supported: in Debian 13 on Debian 12, and the other way round. As root. It fails where a library, a compiler
# or a program of that release is not what the sources expect.
#
# The other Debian, its packages, its ccache and the build stay in ~/.cache/rpmem (XDG_CACHE_HOME), so that the next
# run compiles only what has changed. Remove that directory to begin anew. With -N it builds, and runs no test.
set -eu -o pipefail
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

sources=$(realpath "$1") preset=$2
shift 2
case $VERSION_CODENAME in
bookworm) release=trixie ;;
*) release=bookworm ;;
esac
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpmem
root=$cache/$release
complete=$root/root/complete # the last file that is made

mkdir -p "$cache"
exec 9>"$cache/lock"
flock --timeout 600 9 || fault "another run has had $cache for 600 s"

if [ ! -e "$complete" ]; then
    rm -rf --one-file-system "$root"
    make_root
    apt_get install --yes --no-install-recommends ca-certificates ccache
    touch "$complete"
fi
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"

# What git has and nothing else. A build of other sources goes: a file of them may be older than what was built.
copy_sources() {
    local copy=$root/root/librpmem
    mkdir -p "$copy"
    [ "$(cat "$root/root/sources" 2>/dev/null)" = "$sources" ] || rm -rf "$copy/build"
    find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    (cd "$sources" && git -c safe.directory="*" ls-files -z | tar --null --files-from=- -c) | tar -C "$copy" -x
    echo "$sources" >"$root/root/sources"
}

copy_sources
echo "Debian $(cat "$root/etc/debian_version") in $root"
in_root bash -c "apt-get -qq update" || echo "the package index could not be renewed"
# shellcheck disable=SC2016 # for the other shell
in_root env CI=true HOME=/root bash -c 'cd /root/librpmem && . tools/support.sh && install_packages run test &&
    configure "$1" -DRPMEM_BUILD_TESTS=ON -DRPMEM_SIMULATION_TESTS=OFF && build "$1"' bash "$preset" >"$work/log" 2>&1 ||
    { tail -n 100 "$work/log"; fault "the build failed in Debian $release"; }
echo "built in $SECONDS s"
# shellcheck disable=SC2016 # for the other shell
in_root --net env CI=true HOME=/root RPMEM_TEST_JOBS="${RPMEM_TEST_JOBS:-}" bash -c 'cd /root/librpmem && preset=$1 && shift &&
    exec ctest --preset "$preset" --output-on-failure --no-tests=error --parallel "${RPMEM_TEST_JOBS:-6}" "$@"' \
    bash "$preset" "$@" || fault "tests failed in Debian $release"
echo "built and tested in Debian $release in $SECONDS s"
