# SPDX-License-Identifier: BSD-3-Clause
# Sourced, with the variable sources: skips a test where something is missing to build the Debian packages.
# Tests install nothing; tools/test does.
# shellcheck shell=bash
missing=$(cd "${sources:?}" && dpkg-checkbuilddeps 2>&1) || {
    printf '%s\nskipped; tools/test release -C nightly -L nightly installs it\n' "$missing"
    exit 77
}
