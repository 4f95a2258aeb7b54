#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# reproducible.sh SOURCES
#
# Tests that two builds of the Debian packages are equal byte by byte, with different directories,
# time zones, locales and umasks. It fails if a path, a time or an order of the build gets into a
# package. ccache is disabled, because it would copy one build into the other.
set -eu
sources=$1
# shellcheck source=tests/packaging/build_needs.sh
. "${0%/*}/build_needs.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/rpmem-reproducible.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1

# Use a locale with other letters and another order, if this machine can make it.
locale=C
if localedef --no-archive -i tr_TR -f UTF-8 "$work/tr_TR.UTF-8" 2>/dev/null; then
    export LOCPATH=$work
    locale=tr_TR.UTF-8
fi

# build DIRECTORY UMASK VARIABLE=VALUE...: builds the packages into DIRECTORY.
build() (
    umask "$2"
    env "${@:3}" "$work/sources/tools/package" "$1" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
)

chmod 755 "$work"
# Copy the sources, because a change between the builds would make a difference.
mkdir "$work/sources"
tar -C "$sources" -c --exclude='./build*' --exclude=./.git --exclude=./.cache . | tar -C "$work/sources" -x
build "$work/one" 022 TZ=UTC LC_ALL=C.UTF-8
build "$work/another-folder/with-a-longer-name/two" 077 TZ=Asia/Kathmandu LC_ALL="$locale" LANG="$locale"

cd "$work/one"
packages=(*.deb)
[ "${#packages[@]}" -ge 5 ] || { echo "only these packages: ${packages[*]}"; exit 1; }
failed=0
for package in "${packages[@]}"; do
    cmp "$package" "$work/another-folder/with-a-longer-name/two/$package" || failed=1
done
[ "$failed" -ne 0 ] || sha256sum "${packages[@]}"
exit $failed
