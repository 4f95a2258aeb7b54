#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hardening.sh PREFIX
#
# Tests that programs and libraries in PREFIX are hardened like those of Debian and stripped, with
# debug symbols in .debug. It examines them with readelf. The symbols also contain the options of
# the compiler. It fails if an option is lost for a file or for one source.
set -u

failed=0 files=0
fault() {
    printf '%s: %s\n' "$file" "$*" >&2
    failed=1
}

# compiled_with OPTION: expects that every source of the project was compiled with OPTION.
compiled_with() {
    local without
    without=$(grep -vcE -- " $1( |\$)" <<<"$producers")
    [ "$without" = 0 ] || fault "$without sources were compiled without $1"
}

check_link() {
    local headers dynamic
    headers=$(readelf -lW "$file") dynamic=$(readelf -dW "$file")
    grep -q 'Elf file type is DYN' <<<"$headers" || fault "it is not position-independent"
    grep -q 'GNU_RELRO' <<<"$headers" || fault "no RELRO"
    grep -qE 'GNU_STACK .* RW +0x' <<<"$headers" || fault "the stack is executable"
    grep -qE 'FLAGS_1.*NOW' <<<"$dynamic" || fault "not BIND_NOW"
    grep -q 'INTERP' <<<"$headers" && ! grep -qE 'FLAGS_1.*PIE' <<<"$dynamic" && fault "no PIE"
    ! grep -E '\(R(UN)?PATH\)' <<<"$dynamic" | grep -vF '[$ORIGIN/../' || fault "a RUNPATH that is not relative"
}

check_code() {
    local symbols
    symbols=$(readelf --dyn-syms -W "$file")
    grep -q '__stack_chk_fail' <<<"$symbols" || fault "no stack protector"
    grep -qE ' UND __[a-z]+_chk@' <<<"$symbols" || fault "no function of _FORTIFY_SOURCE"
}

# build_id FILE: prints the build ID. readelf warns about files that contain only symbols.
build_id() {
    readelf -nW "$1" 2>/dev/null | grep 'Build ID'
}

check_symbols() {
    local debug=${file%/*}/.debug/${file##*/}.debug producers
    ! readelf -SW "$file" | grep -qE ' \.(symtab|debug_info) ' || fault "it is not stripped"
    readelf --string-dump=.gnu_debuglink "$file" 2>/dev/null | grep -qF "${debug##*/}" ||
        fault "it does not name its debug symbols"
    [ "$(build_id "$file")" = "$(build_id "$debug")" ] ||
        fault "$debug is not there, or of another build"
    # clang does not record its options.
    producers=$(readelf -wi --dwarf-depth=1 "$debug" 2>/dev/null | grep 'DW_AT_producer.*GNU C')
    [ -n "$producers" ] || { fault "no compiler's name in $debug" && return; }
    compiled_with -fstack-protector-strong
    compiled_with -fstack-clash-protection
    [ "$(uname -m)" != x86_64 ] || compiled_with '-fcf-protection(=full)?'
}

while IFS= read -r file; do
    [ "$(head -c 4 "$file" | tr -d '\0')" = $'\177ELF' ] || continue
    files=$((files + 1))
    check_link
    check_code
    check_symbols
done < <(find "$1" -type f -not -path '*/.debug/*')
file=$1
[ "$files" -ge 4 ] || fault "only $files programs and libraries are installed there"
exit $failed
