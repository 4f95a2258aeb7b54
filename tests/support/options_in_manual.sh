#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# options_in_manual.sh PROGRAM PAGE LEAST [SUBCOMMAND...]
# options_in_manual.sh --names HEADING LEAST INDENT PROGRAM PAGE
#
# Tests that a manual page describes exactly the options in --help of PROGRAM and of its
# subcommands, or each name that --help lists under HEADING. It fails if an option is added, renamed
# or removed without the page, or if --help has fewer than LEAST of them. HEADING, and INDENT before
# a name in the page, are extended regular expressions.
set -eu

fault() {
    echo "$*" >&2
    exit 1
}

text_of() {
    LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$1" | col -bx
}

check_names() {
    local heading=$1 least=$2 indent=$3 program=$4 page=$5 names name text
    names=$("$program" --help | sed -nE "/^($heading):/,/^\$/p" | grep -oE '^ {2}[a-z][a-z0-9_]*' | tr -d ' ')
    [ "$(wc -w <<<"$names")" -ge "$least" ] || fault "--help lists under $heading only: $names"
    text=$(text_of "$page")
    for name in $names; do
        grep -qE "^$indent$name( |\$)" <<<"$text" || fault "$page does not tell of $name"
    done
}

options() {
    grep -oE -- '--[a-z][a-z-]+' | sort -u
}

help_of_all() {
    local program=$1 subcommand
    "$program" --help
    for subcommand in "${@:2}"; do
        "$program" "$subcommand" --help
    done
}

check_options() {
    local program=$1 page=$2 least=$3 in_page in_help
    # Find the options in the left column of the section OPTIONS.
    in_page=$(text_of "$page" | sed -n '/^OPTIONS/,/^[A-NP-Z]/p' | grep -E '^ {7}-' | options)
    in_help=$(help_of_all "$program" "${@:4}" | grep -E '^ {2,4}-' | options)
    [ "$(wc -l <<<"$in_help")" -ge "$least" ] || fault "--help has only: $in_help"
    diff -u --label '--help' <(echo "$in_help") --label "$page" <(echo "$in_page")
}

if [ "$1" = --names ]; then
    check_names "${@:2}"
else
    check_options "$@"
fi
