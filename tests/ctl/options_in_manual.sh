#!/bin/bash
# options_in_manual.sh RPMEMCTL SOURCES: rpmemctl(1) tells every option and every subcommand that
# --help prints.
set -eu

options() {
    grep -oE -- '--[a-z][a-z-]+' | sort -u
}

page=$(LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$2/man/rpmemctl.1" | col -bx)
in_page=$(sed -n '/^OPTIONS/,/^JSON/p' <<<"$page" | grep -E '^ {7}-' | options)
in_help=$({ "$1" --help && "$1" probe --help && "$1" settings --help; } | grep -E '^ +-' | options)
diff -u --label 'rpmemctl --help' <(printf '%s\n' "$in_help") --label 'rpmemctl(1)' <(printf '%s\n' "$in_page")
subcommands=$("$1" --help | sed -n '/^Subcommands:/,/^$/p' | grep -oE '^ {2}[a-z]+' | tr -d ' ')
[ "$(wc -w <<<"$subcommands")" -ge 2 ]
for name in $subcommands; do
    grep -qE "^ {3}rpmemctl $name" <<<"$page" || {
        echo "rpmemctl(1) does not tell of $name" >&2
        exit 1
    }
done
