#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# versions.sh SOURCE_DIR
#
# Tests that files whose format needs the version of the product have that of CMakeLists.txt, and
# that no other source names it. The C interface must stay 1.3. It fails if a release forgets one of
# these files.
set -eu
cd "$1"
version=$(sed -nE 's/^project\(librpmem VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "no version in CMakeLists.txt: '$version'"; exit 1; }
faults=0

# is VERSION WHERE: expects the version of CMakeLists.txt.
is() {
    [ "$1" = "$version" ] || { echo "$2 has the version '$1', CMakeLists.txt $version"; faults=1; }
}

is "$(sed -nE '1s/^librpmem \(([^)]+)\).*/\1/p' debian/changelog)" debian/changelog
is "$(sed -nE 's/^Version: *//p' packaging/librpmem.spec)" packaging/librpmem.spec
is "$(sed -nE 's/^## \[([0-9.]+)\].*/\1/p' CHANGELOG.md | head -n 1)" CHANGELOG.md

is "$(sed -nE 's/^version = "(.*)"$/\1/p' python/pyproject.toml)" python/pyproject.toml

# Times in packages are limited to this date. If it were in the future, two builds would differ.
released=$(sed -nE 's/^ -- .*>  (.*)/\1/p' debian/changelog | head -n 1)
[ "$(date -d "$released" +%s)" -lt "$(date +%s)" ] || {
    echo "debian/changelog: $released has not passed yet; write the time of the last commit or an earlier one"
    faults=1
}

named=$(grep -rlF "$version" common librpmem rpmemd tools man cmake --include='*' |
    grep -vE '^common/(base/version|probe/node)\.hpp$' || true) # examples in comments
[ -z "$named" ] || { printf 'these name the version, too:\n%s\n' "$named"; faults=1; }
unfinished=$(grep -LE '^\.so |^\.TH [^ ]+ [0-9] [0-9-]{10} librpmem ' man/*.[0-9] || true)
[ -z "$unfinished" ] || { printf 'no place for the version in the footer of:\n%s\n' "$unfinished"; faults=1; }

for line in '#define RPMEM_MAJOR_VERSION 1' '#define RPMEM_MINOR_VERSION 3'; do
    grep -qx "$line" include/librpmem.h || { echo "include/librpmem.h lacks: $line"; faults=1; }
done
exit $faults
