#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# installed_example.sh CMAKE BUILD SOURCES CONFIGURATION
#
# Tests an installation in a temporary prefix, below with-sshd: the examples in C and C++ and the
# programs in README.md are built against it with CMake and pkg-config, and replicate to a real
# daemon. It fails if a file is missing, refers to the build, or cannot be moved, or if a program
# does not build or does not write its bytes to the target.
set -eu

cmake=$1
build=$2
sources=$3
configuration=$4
work=$RPMEM_TEST_DIR
prefix=$work/prefix
target=$work/target

fault() {
    printf '%s\n' "$*" >&2
    [ ! -s "$target/rpmemd.log" ] || cat "$target/rpmemd.log" >&2
    exit 1
}

install_build() {
    "$cmake" --install "$build" --prefix "$prefix" >"$work/install.log" ||
        { cat "$work/install.log"; fault "cmake --install failed"; }
    libdir=$(dirname "$(find "$prefix" -name librpmem.so.1)")
    local file
    for file in "$prefix/share/bash-completion/completions/rpmemd" "$prefix/share/zsh/site-functions/_rpmemctl" "$prefix/share/doc/librpmem/CHANGELOG.md" \
        "$prefix/bin/rpmemd" "$prefix/bin/rpmemctl" "$prefix/bin/rpmem-bench" "$prefix/include/librpmem.h" \
        "$prefix/include/librpmem.hpp" "$libdir/librpmem.so" \
        "$libdir/pkgconfig/librpmem.pc" "$libdir/cmake/librpmem/librpmemConfig.cmake" \
        "$prefix/share/man/man7/librpmem.7" "$prefix/share/man/man7/rpmem-libpmemobj.7" \
        "$prefix/share/man/man3/rpmem_drain.3" \
        "$prefix/share/man/man1/rpmemd.1" "$prefix/share/man/man1/rpmemctl.1" "$prefix/share/man/man5/rpmemd.conf.5" \
        "$prefix/share/doc/librpmem/README.md" \
        "$prefix/share/doc/librpmem/examples/rpmemd.conf"; do
        [ -e "$file" ] || fault "$file is not installed"
    done
    if grep -rlF "$build" "$prefix" --include='*.pc' --include='*.cmake'; then
        fault "these files lead back into the build tree"
    fi
}

# Moves the tree. An installation must work at another place, too.
move_prefix() {
    mv "$prefix" "$work/moved prefix"
    libdir="$work/moved prefix${libdir#"$prefix"}"
    prefix="$work/moved prefix"
}

# The programs must start without LD_LIBRARY_PATH.
check_programs() {
    local program
    for program in rpmemd rpmemctl rpmem-bench; do
        env -u LD_LIBRARY_PATH "$prefix/bin/$program" --version >"$work/version" ||
            fault "$program does not start from the prefix that it was installed into"
        [[ $(cat "$work/version") =~ ^$program\ [0-9]+\.[0-9]+\.[0-9]+$'\n'built\ [^$'\n']+$'\n'transports:\  ]] ||
            fault "$program --version says: $(cat "$work/version")"
    done
}

check_hardening() {
    case $configuration in
    Rel*)
        "$cmake" --install "$build" --prefix "$prefix" --component debug >"$work/install.log" ||
            { cat "$work/install.log"; fault "cmake --install --component debug failed"; }
        "${0%/*}/hardening.sh" "$prefix" || fault "what is installed is not hardened"
        ;;
    esac
}

# snippet LANGUAGE FILE SET: writes the program in README.md to FILE, for the target of this test.
snippet() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$sources/README.md" |
        sed "/^\`\`\`/d; s/\"target\"/getenv(\"RPMEM_TEST_TARGET\")/; s/\"pool.set\"/\"$3\"/" >"$2"
}

# Builds the programs in README.md like a reader.
build_snippets() {
    [ ! -e /etc/debian_version ] || grep -qF "DIR${libdir#"$prefix"}/pkgconfig " "$sources/README.md" ||
        fault "README.md does not say that libraries are installed into DIR${libdir#"$prefix"}"
    snippet c "$work/snippet.c" snippet.set
    snippet cpp "$work/snippet.cpp" snippet_cxx.set
    # shellcheck disable=SC2046 # options
    PKG_CONFIG_PATH=$libdir/pkgconfig cc -Wall -Wextra -Werror "$work/snippet.c" -o "$work/snippet" \
        $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs librpmem) ||
        fault "the program in README.md does not compile"
    # shellcheck disable=SC2046
    PKG_CONFIG_PATH=$libdir/pkgconfig c++ -std=c++20 -Wall -Wextra -Werror "$work/snippet.cpp" \
        -o "$work/snippet_cxx" $(PKG_CONFIG_PATH=$libdir/pkgconfig pkg-config --cflags --libs librpmem) ||
        fault "the program in C++ in README.md does not compile"
}

# run_snippet NAME: runs a program of README.md, and expects its bytes on the target.
run_snippet() {
    printf 'PMEMPOOLSET\n32M %s\n' "$target/$1.part0" >"$target/$1.set"
    LD_LIBRARY_PATH=$libdir timeout 60 "$work/$1" || fault "$1, a program in README.md, failed"
    [ "$(head -c $((4096 + 20)) "$target/$1.part0" | tail -c 20)" = "kept on two machines" ] ||
        fault "$1.part0 does not hold what the program in README.md wrote"
}

build_with_cmake() {
    {
        "$cmake" -S "$sources/examples" -B "$work/with-cmake" -DCMAKE_PREFIX_PATH="$prefix"
        "$cmake" --build "$work/with-cmake"
    } >"$work/cmake.log" 2>&1 || true
    [ -x "$work/with-cmake/replicate" ] && [ -x "$work/with-cmake/replicate_cxx" ] ||
        { cat "$work/cmake.log"; fault "the examples do not build with CMake"; }
    mkdir "$work/wrong"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(wrong LANGUAGES C)' \
        'find_package(librpmem REQUIRED COMPONENTS fortran)' >"$work/wrong/CMakeLists.txt"
    ! "$cmake" -S "$work/wrong" -B "$work/wrong/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/cmake.log" 2>&1 &&
        grep -q "no component fortran" "$work/cmake.log" || fault "find_package() takes a component that there is not"
}

build_with_make() {
    mkdir "$work/with-make"
    make -C "$sources/examples" BUILD_DIR="$work/with-make" \
        PKG_CONFIG_PATH="$libdir/pkgconfig" >"$work/make.log" 2>&1 ||
        { cat "$work/make.log"; fault "the examples do not build with make and pkg-config"; }
}

# run_example PROGRAM NAME: runs an example, and expects its bytes on the target.
run_example() {
    printf 'PMEMPOOLSET\n32M %s\n' "$target/$2.part0" >"$target/$2.set"
    LD_LIBRARY_PATH=$libdir timeout 60 "$1" "$RPMEM_TEST_TARGET" "$2.set" ||
        fault "the example that was built with $2 failed"
    {
        head -c 4096 "$target/$2.part0"
        printf 'kept on two machines\0'
        head -c $((32 * 1024 * 1024 - 4096 - 21)) /dev/zero | tr '\0' '\52'
    } | cmp - "$target/$2.part0" || fault "$2.part0 does not hold what the example wrote"
    [ "$(head -c 7 "$target/$2.part0")" = EXAMPLE ] || fault "$2.part0 has no header"
}

# Keep the manifests of another installation of this build.
mkdir "$work/manifests" "$target"
mv "$build"/install_manifest*.txt "$work/manifests" 2>/dev/null || true
trap 'rm -f "$build"/install_manifest*.txt; mv "$work"/manifests/* "$build" 2>/dev/null || true' EXIT
install_build
check_hardening
"${0%/*}/links.sh" "$prefix" "$prefix"/share/doc/librpmem/{,docs/}*.md ||
    fault "links of installed texts lead nowhere"
build_with_make
build_snippets
move_prefix
check_programs
build_with_cmake

export RPMEM_ENABLE_VERBS=0 RPMEM_CMD
RPMEM_CMD=$(printf '%q ' "$prefix/bin/rpmemd" --poolset-dir "$target" \
    --log-file "$target/rpmemd.log" --log-level notice)
run_example "$work/with-cmake/replicate" cmake
run_example "$work/with-make/replicate" make
run_example "$work/with-cmake/replicate_cxx" cmake_cxx
run_example "$work/with-make/replicate_cxx" make_cxx
run_snippet snippet
run_snippet snippet_cxx
