#!/bin/bash
# options_in_manual.sh RPMEMD SOURCES: rpmemd(1) tells every option that --help prints, and no
# other; rpmemd.conf(5) tells every setting.
set -eu

options() {
    grep -oE -- '--[a-z][a-z-]+' | sort -u
}

# What the page prints in the left column of OPTIONS.
page=$(LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$2/man/rpmemd.1" | col -bx |
    sed -n '/^OPTIONS/,/^PERSISTENCY/p' | grep -E '^ {7}-' | options)
help=$("$1" --help | grep -E '^ +-' | options)
[ "$(wc -l <<<"$help")" -ge 13 ] || {
    printf 'rpmemd --help has only:\n%s\n' "$help" >&2
    exit 1
}
diff -u --label 'rpmemd --help' <(printf '%s\n' "$help") --label 'rpmemd(1)' <(printf '%s\n' "$page")

for setting in log-file log-level use-syslog poolset-dir poolset-outside persist-apm persist-general \
    accept-timeout on-demand-paging device; do
    grep -qx -- "--$setting" <<<"$help"
    grep -qxF ".B ${setting//-/\\-}" "$2/man/rpmemd.conf.5" || {
        echo "rpmemd.conf(5) does not tell of $setting" >&2
        exit 1
    }
done
