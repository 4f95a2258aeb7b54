#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# uninstall.sh CMAKE BUILD
#
# Tests the target uninstall with a real installation in a temporary prefix. It fails if an
# installed file is left, if another file is removed, or if it succeeds when nothing is installed.
set -eu

cmake=$1
build=$2
work=$(mktemp -d)
kept=$work/manifests # the manifests of another installation of this build
mkdir "$kept"
mv "$build"/install_manifest*.txt "$kept" 2>/dev/null || true
trap 'rm -f "$build"/install_manifest*.txt; mv "$kept"/* "$build" 2>/dev/null || true; rm -rf "$work"' EXIT

fault() {
    printf '%s\n' "$*" >&2
    exit 1
}

uninstall() {
    "$cmake" --build "$build" --target uninstall >"$work/output" 2>&1
}

! uninstall || fault "uninstall succeeds though nothing is installed"
grep -q 'Nothing was installed' "$work/output" || fault "uninstall does not say why it fails: $(cat "$work/output")"

prefix=$work/prefix
mkdir -p "$prefix/bin" "$prefix/share/doc/librpmem"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null
"$cmake" --install "$build" --prefix "$prefix" --component debug >/dev/null
[ "$(find "$prefix" -type f | wc -l)" -ge 40 ] || fault "only $(find "$prefix" -type f | wc -l) files are installed"
touch "$prefix/bin/other" "$prefix/share/doc/librpmem/note"
uninstall || { cat "$work/output"; fault "uninstall failed"; }
left=$(cd "$prefix" && find . \( -not -type d -o -path '*librpmem*' -o -name .debug \) | sort | tr '\n' ' ')
[ "$left" = "./bin/other ./share/doc/librpmem ./share/doc/librpmem/note " ] || fault "left is: $left"
! uninstall || fault "a second uninstall succeeds"
