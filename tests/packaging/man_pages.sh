#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man_pages.sh DIRECTORY
#
# Tests the manual pages with man(1) and mandoc(1). It fails if these warn, if a page lacks a
# section or has it in another order than man-pages(7), if a reference leads to no page, or if a
# function of librpmem.h has no page.
set -eu

directory=$1
failed=0
fault() {
    printf '%s\n' "$*" >&2
    failed=1
}

check_text() {
    local page=$1 warnings section
    warnings=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || fault "${page##*/}: $warnings"
    for section in NAME SYNOPSIS DESCRIPTION SOURCES 'SEE ALSO'; do
        [ "$section,${page##*/}" != SYNOPSIS,rpmem-protocol.7 ] || continue
        grep -qx "\.SH $section" "$page" || fault "${page##*/}: no section $section"
    done
}

check_style() {
    local page=$1 messages
    messages=$(mandoc -Tlint -W style "$page" 2>&1) || true
    [ -z "$messages" ] || fault "$messages"
}

order='NAME|LIBRARY|SYNOPSIS|DESCRIPTION|OPTIONS|EXIT STATUS|RETURN VALUE|ERRORS|ENVIRONMENT|FILES'
order+='|ATTRIBUTES|VERSIONS|NOTES|EXAMPLES|SOURCES|SEE ALSO'
check_order() {
    local page=$1 misplaced section
    misplaced=$(awk -v order="$order" '
        BEGIN {
            count = split(order, names, "|")
            for (i = 1; i <= count; i++)
                rank[names[i]] = i
        }
        sub(/^\.SH /, "") && ($0 in rank) {
            if (rank[$0] < last)
                print
            last = rank[$0]
        }' "$page")
    [ -z "$misplaced" ] || fault "${page##*/}: stands too late: $misplaced"
    ! grep -qx '\.SH EXAMPLE' "$page" || fault "${page##*/}: the section is called EXAMPLES"
    [[ $page == *.3 ]] || return 0
    for section in LIBRARY 'RETURN VALUE' ERRORS ATTRIBUTES VERSIONS; do
        grep -qx "\.SH $section" "$page" || fault "${page##*/}: no section $section"
    done
}

# Pages of the project that a text refers to must exist.
check_references() {
    local page=$1 name section
    while read -r name section; do
        [ -e "$directory/$name.$section" ] || fault "${page##*/}: refers to $name($section)"
    done < <(grep -oE '(lib)?rpmem[a-z_.-]*(\\fP)? ?\([1-8]\)' "$page" | sed -E 's/\\fP//; s/ ?\(([1-8])\)/ \1/')
}

command -v mandoc >/dev/null || fault "mandoc is not installed"
pages=0
for page in "$directory"/*.[1-8]; do
    pages=$((pages + 1))
    linked=$(sed -n 's/^\.so //p' "$page")
    if [ -n "$linked" ]; then
        [ -s "$directory/${linked#man?/}" ] || fault "${page##*/}: no page $linked"
    else
        check_text "$page"
        check_style "$page"
        check_order "$page"
        check_references "$page"
    fi
done
[ "$pages" -ge 16 ] || fault "only $pages pages in $directory"

header=$directory/../include/librpmem.h
for function in $(grep -oE '\brpmem_[a-z_]+\(' "$header" | tr -d '(' | sort -u); do
    [ -e "$directory/$function.3" ] || fault "$function has no page"
done
exit $failed
