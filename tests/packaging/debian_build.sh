#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# debian_build.sh SOURCES DIRECTORY
#
# Builds the Debian packages into DIRECTORY, for the tests that examine them. It fails if
# tools/package fails.
set -eu
sources=$1
rm -f "$2"/*.deb
# shellcheck source=tests/packaging/build_needs.sh
. "${0%/*}/build_needs.sh"
"$sources/tools/package" "$2"
