#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# package_lists.sh SOURCE_DIR
#
# Tests the lists of the packages: debian/control must have the build dependencies of
# tools/packages, and each manual page and header must be in a Debian package and in an rpm package.
# It fails if a new dependency, page or header was forgotten in a list.
set -eu
cd "$1"
faults=0 looked=0

# within FILE PATTERN WHAT: expects a matching line in the file
within() {
    looked=$((looked + 1))
    grep -qE -- "$2" "$1" || { echo "$1: nothing for $3"; faults=1; }
}

while read -r package; do
    within debian/control "^ ${package//./\\.}( |,)" "$package, which tools/packages has"
done < <(sed -nE 's/^(run|package) +(.*-dev)$/\2/p' tools/packages)

installed=$(cat debian/*.install)
for page in man/*.[0-9]; do
    name=${page#man/}
    section=man${name##*.}
    grep -qE "^usr/share/man/$section(/${name//./\\.})?$" <<<"$installed" ||
        { echo "debian/: no package has $name"; faults=1; }
    case $name in
    *.3) ;; # rpmem_*.3
    *) within packaging/librpmem.spec "/$section/${name//./\\.}\*" "$name" ;;
    esac
done
for header in include/*; do
    within packaging/librpmem.spec "/${header##*/}$" "$header"
done
[ "$looked" -ge 20 ] || { echo "only $looked names were looked for"; faults=1; }
exit $faults
