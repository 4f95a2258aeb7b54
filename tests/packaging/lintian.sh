#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# lintian.sh PACKAGES
#
# Tests that lintian has neither errors nor warnings for the Debian packages in this directory. It
# fails if a package violates the policy of Debian.
set -eu
compgen -G "$1/*.deb" >/dev/null || { echo "there are no packages in $1"; exit 77; }
command -v lintian >/dev/null || { echo "lintian is missing: apt-get install lintian"; exit 77; }
changes=$(ls "$1"/librpmem_*.changes)
[ "$(grep -cE '^ [0-9a-f]{64} .*\.deb$' "$changes")" -ge 5 ] || { echo "$changes lists too few packages"; exit 1; }
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$changes"
