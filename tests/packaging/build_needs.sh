# SPDX-License-Identifier: BSD-3-Clause
# Skips a test if something is missing to build the Debian packages. Sourced, with the variable
# sources. Tests do not install packages, tools/test does.
# shellcheck shell=bash
missing=$(cd "${sources:?}" && dpkg-checkbuilddeps 2>&1) || {
    printf '%s\nskipped; tools/test release -C nightly -L nightly installs it\n' "$missing"
    exit 77
}
