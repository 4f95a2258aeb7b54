#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# arm64.sh SOURCES [STEP...]
#
# Tests the product for AArch64, cross-built in Debian 13 with its toolchain: the unit tests and the
# simulations run under qemu-user, and the packages are built. It fails if something assumes x86-64,
# if g++ for AArch64 has a warning, or if libpmem flushes differently there.
#
# qemu-user translates instructions and leaves stores and system calls to this machine. So the tests
# show which bytes are written, but not the order in which another processor or the medium sees the
# stores. They do not show the confinement either, because qemu-user has neither seccomp nor
# Landlock.
#
# The steps are build_tests, run_copies, run_tests, replicate and build_packages. Default: all, in
# this order. Run it as root. Debian 13 with the toolchain and the build are kept in ~/.cache/rpmem
# (XDG_CACHE_HOME).
set -eu -o pipefail
RPMEM_DEBIAN=trixie
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

sources=$(realpath "$1")
left_out=${0%/*}/arm64_left_out.txt
# The directories of tests that are built and run.
directories="unit/common unit/include unit/lanes unit/librpmem unit/rpmemd unit/tools simulation"

# Prints the packages of libraries for AArch64. Packages with only headers are the same for all
# architectures.
libraries() {
    sed -nE 's/^(run|test) +(.*-dev)$/\2/p' "$sources/tools/packages" |
        sed -E '/^(libcli11|libexpected|nlohmann-json3)-dev$/!s/$/:arm64/'
}

# Also runs in a Debian that was kept, because tools/packages may have changed.
install_toolchain() {
    in_root dpkg --add-architecture arm64
    in_root apt-get -qq update || echo "the package index could not be renewed"
    # shellcheck disable=SC2046 # a list
    apt_get install --yes --no-install-recommends ca-certificates ccache build-essential cmake \
        ninja-build debhelper pmdk-tools crossbuild-essential-arm64 pkgconf:arm64 qemu-user \
        openssh-server openssh-client procps $(libraries)
}

# in_sources COMMAND...: runs COMMAND in the other Debian, and prints its output if it fails.
in_sources() {
    # shellcheck disable=SC2016 # for the other shell
    in_root --net env CI=true HOME=/root bash -c 'cd /root/librpmem && exec "$@"' bash "$@" >"${work:?}/log" 2>&1 ||
        { tail -n 100 "$work/log" >&2; fault "failed for arm64: $*"; }
}

build_tests() {
    # shellcheck disable=SC2016,SC2086 # for the other shell, a list
    in_sources bash -eu -c '. tools/support.sh
        configure release -DRPMEM_BUILD_TESTS=ON -DRPMEM_VM_TESTS=OFF --toolchain tests/packaging/arm64.cmake
        targets="$(printf "%s/all " common librpmem rpmemd tools "${@/#/tests/}")"
        # On a busy machine an emulated program may need more than the 5 s that CMake gives it to name its tests.
        (build release --target $targets -- -k 0) || build release --target $targets' \
        bash $directories
    readelf -h "$root/root/librpmem/build/release/rpmemd/rpmemd" | grep -q 'Machine: *AArch64' ||
        fault "this is no program for AArch64"
    echo "built after $SECONDS s"
}

# Runs the tests except those that emulation cannot run.
run_tests() {
    local excluded build=/root/librpmem/build/release
    excluded=$(sed -nE 's/^([^# ]+) .*/\1/p' "$left_out" | paste -sd '|')
    mkdir -p "$root$build/emulated"
    # shellcheck disable=SC2086 # a list
    printf "subdirs(\"$build/tests/%s\")\n" $directories >"$root$build/emulated/CTestTestfile.cmake"
    in_root --net env HOME=/root ctest --test-dir "$build/emulated" --output-on-failure --no-tests=error --timeout 900 \
        --parallel "${RPMEM_TEST_JOBS:-$(nproc)}" --exclude-regex "^($excluded)\$" >"$work/log" 2>&1 ||
        { grep -v ' Passed ' "$work/log" | tail -n 200 >&2; fault "tests failed under qemu-user"; }
    grep 'tests passed' "$work/log"
    echo "tested after $SECONDS s"
}

# Runs the copies with each way to flush: to the point of coherency (dc cvac) on the first
# processors, to the point of persistence (dc cvap) on later ones, and without flushes.
run_copies() {
    local set passed
    for set in "cortex-a57 0" "neoverse-n1 0" "neoverse-n1 1"; do
        in_sources env "PMEM_NO_FLUSH=${set#* }" qemu-aarch64 -cpu "${set% *}" \
            build/release/tests/unit/rpmemd/lanes_tests "--gtest_filter=StreamedCopy.*"
        passed=$(grep -F 'PASSED' "$work/log")
        [[ $passed =~ \]\ +[1-9] ]] || fault "no test ran: $passed"
        echo "-cpu ${set% *}, PMEM_NO_FLUSH=${set#* }: $passed"
    done
}

# Runs tools/quickstart through a real sshd. Both ends are emulated, ssh and the shell are not.
replicate() {
    # shellcheck disable=SC2016 # for the other shell
    in_sources bash -eu -c 'rm -rf ../replicate && mkdir -p ../replicate/tests && cp -r tools ../replicate
        cp -r tests/support ../replicate/tests
        for program in tools/rpmem_quickstart rpmemd/rpmemd; do
            emulated=../replicate/build/release/$program
            mkdir -p "${emulated%/*}"
            printf "#!/bin/sh\nexec qemu-aarch64 -cpu neoverse-n1 %s \"\$@\"\n" "$PWD/build/release/$program" >"$emulated"
            chmod 755 "$emulated"
        done
        cd ../replicate && tests/support/with-sshd tools/quickstart --show'
    grep -q '^It works' "$work/log" || fault "tools/quickstart did not get to its end"
    echo "replicated between two emulated ends after $SECONDS s"
}

build_packages() {
    local package
    # shellcheck disable=SC2016 # for the other shell
    in_sources bash -eu -c 'rm -rf ../packages && mkdir -p ../packages/librpmem
        tar -c --exclude=./build . | tar -x -C ../packages/librpmem
        cd ../packages/librpmem
        export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_DIR=/root/.cache/ccache
        dpkg-buildpackage --host-arch arm64 --build-profiles=nocheck,cross --build=binary \
            --unsigned-changes --unsigned-buildinfo --jobs="$(nproc)"
        cd .. && rm -rf librpmem'
    for package in librpmem1 librpmem-dev librpmem1-debug rpmemd rpmem-tools; do
        [ -e "$(echo "$root/root/packages/${package}"_*_arm64.deb)" ] || fault "there is no package $package for arm64"
    done
    # shellcheck disable=SC2016 # for the other shell
    in_root bash -c 'apt-get install --simulate --no-install-recommends $(ls /root/packages/*.deb | grep -v dbgsym)' \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; fault "the packages for arm64 cannot be installed"; }
    in_sources bash -eu -c 'rm -rf ../unpacked && dpkg-deb -x ../packages/rpmemd_*.deb ../unpacked &&
        qemu-aarch64 ../unpacked/usr/bin/rpmemd --version'
    cat "$work/log"
    echo "packages built after $SECONDS s"
}

shift
[ $# -ne 0 ] || set -- build_tests run_copies run_tests replicate build_packages
keep_root arm64 || {
    make_root
    root_is_complete
}
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
install_toolchain
copy_sources "$sources"
for step; do
    "$step"
done
