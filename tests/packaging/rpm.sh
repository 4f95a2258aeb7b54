#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rpm.sh SOURCES
#
# Tests that rpmbuild makes the packages of packaging/librpmem.spec without a warning. It fails if
# an installed file is in no package or in two, or if a package is missing. Dependencies are not
# checked, because this is Debian.
set -eu -o pipefail
sources=$1
command -v rpmbuild >/dev/null || { echo "rpmbuild is missing: apt-get install rpm"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/rpmem-rpm.XXXXXX")
trap 'rm -rf "$work"' EXIT
version=$(sed -nE 's/^project\(librpmem VERSION ([0-9.]+) .*/\1/p' "$sources/CMakeLists.txt")
mkdir -p "$work/SOURCES"
tar -C "$sources" -c -z -f "$work/SOURCES/librpmem-$version.tar.gz" --exclude='./build*' --exclude=./.git \
    --exclude=./.cache --transform="s,^\.,librpmem-$version," .
# By default, rpmbuild fails for files that no package has.
rpmbuild -bb --nodeps --define "_topdir $work" "$sources/packaging/librpmem.spec" >"$work/log" 2>&1 </dev/null ||
    { tail -n 40 "$work/log"; echo "rpmbuild failed"; exit 1; }
! grep -iE '^(warning|error):' "$work/log" || { echo "rpmbuild warns"; exit 1; }
for name in librpmem librpmem-devel rpmemd rpmem-tools; do
    package=$(ls "$work"/RPMS/*/"$name-$version"-*.rpm)
    rpm -qp --qf '%{NAME} %{VERSION} %{LICENSE} %{SIZE}\n' "$package" | grep "^$name $version BSD-3-Clause "
done
duplicates=$(rpm -qpl "$work"/RPMS/*/*.rpm | grep -vE 'debug|\.build-id|/licenses/' | sort | uniq -d)
[ -z "$duplicates" ] || { echo "in two packages: $duplicates"; exit 1; }
rpm -qpl "$work"/RPMS/*/rpmemd-"$version"-*.rpm | grep -qx /etc/rpmemd/rpmemd.conf
