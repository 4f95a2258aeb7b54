# SPDX-License-Identifier: BSD-3-Clause
# Functions for tools/quickstart, tools/test and .ci/run: packages, configuring, building.
# Sourced; needs bash with `set -eu`.
# shellcheck shell=bash

# If this machine lacks the locale, every bash that is started from here would warn again.
if locale 2>&1 >/dev/null | grep -q 'Cannot set'; then
    export LC_ALL=C.UTF-8
fi

jobs=${RPMEM_JOBS:-$(nproc)}
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() {
    printf '%s\n' "$*"
}

# die TEXT...: prints a line for each argument and exits.
die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '    %s\n' "$@" >&2
    exit 1
}

# packages_of GROUP...
packages_of() {
    local wanted=" $* " group package rest
    while read -r group package rest; do
        case $wanted in
        *" $group "*) printf '%s\n' "$package" ;;
        esac
    done <"$source_dir/tools/packages"
}

package_is_installed() {
    dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

missing_packages() {
    local package
    for package in $(packages_of "$@"); do
        package_is_installed "$package" || printf '%s\n' "$package"
    done
}

# as_root COMMAND...
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# require_root_access PACKAGE...: exits with advice if this user cannot install packages.
require_root_access() {
    local command="apt-get install $*"
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null || die \
        "packages are missing, and this user cannot install them: there is no sudo." \
        "As root: $command"
    # Without a terminal nobody can type a password.
    [ -t 0 ] || sudo -n true 2>/dev/null || die \
        "packages are missing, and sudo wants a password, which cannot be asked for here." \
        "As root: $command"
}

policy_rc_d=/usr/sbin/policy-rc.d # Debian runs it to find out whether a service may be started

# Installs these packages as root. Their services, such as ssh, are neither started nor enabled, because
# only the programs are needed.
install_quietly() {
    as_root env DEBIAN_FRONTEND=noninteractive policy="$policy_rc_d" bash -c '
        set -eu
        if [ ! -e "$policy" ]; then
            trap "rm -f \"\$policy\"" EXIT
            printf "#!/bin/sh\nexit 101\n" >"$policy"
            chmod 755 "$policy"
        fi
        apt-get -qq install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 \
            -o Acquire::Retries=3 "$@" </dev/null >/dev/null
        # The packages are installed even if this fails.
        if [[ " $* " == *" openssh-server "* ]] && command -v systemctl >/dev/null; then
            systemctl --quiet disable ssh.service || true
        fi' bash "$@"
}

# install_packages GROUP...: installs the missing packages of these groups from Debian.
install_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        die "this is not Debian, nor a system like it (there is no apt-get)." \
            "Install what corresponds to these packages of Debian, then build by hand (README.md):" \
            "$(packages_of "$@" | tr '\n' ' ')"
    fi
    missing=$(missing_packages "$@" | tr '\n' ' ')
    [ -n "$missing" ] || return 0
    require_root_access "$missing"
    say "Installing from Debian: $missing"
    # Continue if the index cannot be updated, because the packages may be in the cache.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update </dev/null ||
        say "The package index could not be renewed; trying with the one that is there."
    # shellcheck disable=SC2086 # a list of names
    install_quietly $missing || die \
        "apt-get could not install: $missing" \
        "It says why above. The usual reasons: no network, no space on the disk, another apt-get" \
        "that does not end, or a release older than Debian 12 that does not have a package."
}

# require_space DIRECTORY MIB WHAT
require_space() {
    local free
    free=$(df --output=avail -m "$1" 2>/dev/null | tail -n 1 | tr -d ' ')
    [ -z "$free" ] || [ "$free" -ge "$2" ] || die \
        "the disk of $1 has $free MiB free; $3 needs $2 MiB." "Make room and try again."
}

# tell_estimate PRESET MINUTES: prints how long the first build of PRESET takes. MINUTES is its time on one processor.
tell_estimate() {
    local minutes=$((($2 + jobs - 1) / jobs))
    [ ! -e "$source_dir/build/$1/.ninja_log" ] || {
        say "Building what has changed since the last time."
        return
    }
    say "Building takes about $minutes minutes with $jobs compilers at once (RPMEM_JOBS)."
}

# prepare_build_directory DIRECTORY
prepare_build_directory() {
    mkdir -p "$1" 2>/dev/null || true
    if [ ! -w "$1" ] || { [ -e "$1/CMakeCache.txt" ] && [ ! -w "$1/CMakeCache.txt" ]; }; then
        die "$1 cannot be written: the source tree, or an older build, belongs to another user." \
            "Remove the build as that user or with sudo (rm -rf '$1')," \
            "or work in a copy of the sources that is yours."
    fi
    require_space "$1" 1024 "a build"
}

# configure PRESET [CMAKE-OPTION...]: warnings are errors only in CI, so that a newer compiler does not stop a user.
configure() {
    local preset=$1 launcher=() warnings=OFF
    shift
    [ "${CI:-}" != true ] || warnings=ON
    prepare_build_directory "$source_dir/build/$preset"
    if command -v ccache >/dev/null; then
        launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    (cd "$source_dir" && cmake --preset "$preset" "${launcher[@]}" -DRPMEM_WERROR="$warnings" "$@") || die \
        "cmake could not configure the build; it says why above." \
        "If the source tree was moved, remove the old build first: rm -rf '$source_dir/build/$preset'"
}

# build PRESET [CMAKE-BUILD-OPTION...]
build() {
    local preset=$1
    shift
    (cd "$source_dir" && cmake --build --preset "$preset" --parallel "$jobs" "$@") || die \
        "the build failed; look for the first line with FAILED or error above." \
        "If the compiler was killed, memory ran out; use fewer jobs: RPMEM_JOBS=1 $0"
}
