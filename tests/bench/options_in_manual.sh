#!/bin/bash
# options_in_manual.sh RPMEM-BENCH SOURCES: rpmem-bench(1) tells every option and every case that
# --help prints, and no other option.
set -eu

options() {
    grep -oE -- '--[a-z][a-z-]+' | sort -u
}

page=$(LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$2/man/rpmem-bench.1" | col -bx)
in_page=$(sed -n '/^OPTIONS/,/^OUTPUT/p' <<<"$page" | grep -E '^ {7}-' | options)
in_help=$("$1" --help | grep -E '^ +-' | options)
[ "$(wc -l <<<"$in_help")" -ge 15 ] || {
    printf 'rpmem-bench --help has only:\n%s\n' "$in_help" >&2
    exit 1
}
diff -u --label 'rpmem-bench --help' <(printf '%s\n' "$in_help") \
    --label 'rpmem-bench(1)' <(printf '%s\n' "$in_page")

cases=$("$1" --help | sed -n '/^Cases:/,/^$/p' | grep -oE '^ {2}[a-z]+' | tr -d ' ')
[ "$(wc -w <<<"$cases")" -ge 9 ]
for name in $cases; do
    grep -qE "^ {7}$name( |$)" <<<"$page" || {
        echo "rpmem-bench(1) does not tell of the case $name" >&2
        exit 1
    }
done
