#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# other_release.sh SOURCES PRESET [CTEST-OPTION...]
#
# Builds and tests SOURCES in the other supported release of Debian: in Debian 13 on Debian 12, and
# the reverse. It fails if a library, a compiler or a program of that release differs from what the
# sources expect, and for each warning of that compiler. Run it as root.
#
# The other Debian, its packages, its ccache and the build are kept in ~/.cache/rpmem
# (XDG_CACHE_HOME), so that the next run compiles only changes. Remove that directory to start
# again. With -N it builds and runs no test. With -C nightly it also runs nightly tests.
set -eu -o pipefail
RPMEM_DEBIAN=other
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

sources=$(realpath "$1") preset=$2
shift 2
groups="run test" net=--net test_jobs=${RPMEM_TEST_JOBS:-6}
# Nightly tests install and build, so they need the network, more packages, and more processor time.
case " $* " in
*" nightly "*) groups+=" package release" net="" test_jobs=2 ;;
esac

keep_root "$release" || {
    make_root
    apt_get install --yes --no-install-recommends ca-certificates ccache
    root_is_complete
}
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
copy_sources "$sources"
echo "Debian $(cat "$root/etc/debian_version") in $root"
in_root bash -c "apt-get -qq update" || echo "the package index could not be renewed"
# shellcheck disable=SC2016 # for the other shell
in_root env CI=true HOME=/root bash -c 'cd /root/librpmem && . tools/support.sh && install_packages $2 &&
    configure "$1" -DRPMEM_BUILD_TESTS=ON -DRPMEM_SIMULATION_TESTS=OFF && build "$1"' bash "$preset" "$groups" \
    >"$work/log" 2>&1 || { tail -n 100 "$work/log"; fault "the build failed in Debian $release"; }
echo "built in $SECONDS s"
# shellcheck disable=SC2016,SC2086 # for the other shell; net may be nothing
in_root $net env CI=true HOME=/root bash -c 'cd /root/librpmem && preset=$1 && shift &&
    exec ctest --preset "$preset" --output-on-failure --no-tests=error "$@"' \
    bash "$preset" --parallel "$test_jobs" "$@" || fault "tests failed in Debian $release"
echo "built and tested in Debian $release in $SECONDS s"
