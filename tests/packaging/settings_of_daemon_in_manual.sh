#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# settings_of_daemon_in_manual.sh RPMEMD SOURCES
#
# Tests that rpmemd.conf(5) describes exactly the settings of the daemon, with defaults, and that
# README.md names each. The settings are the output of `rpmemd --check-config` without settings. It
# fails if a setting is added, renamed or changed without the texts.
set -eu

sources=$2
failed=0
fault() {
    printf '%s\n' "$*" >&2
    failed=1
}

page=$(LC_ALL=C.UTF-8 man -E UTF-8 -l -Tutf8 "$sources/man/rpmemd.conf.5" | col -bx)
# Find the lines of the table: key, value, default. It ends where a line has only its first key.
# man(1) may put an empty line into a long table.
overview=$(sed -n '/^SETTINGS/,/^ *log-file$/p' <<<"$page" | grep -v '^ *log-file$')
names=
while read -r name default; do
    names="$names $name"
    grep -qF -- "\`$name\`" "$sources/README.md" || fault "README.md does not tell of $name"
    grep -qxF ".B ${name//-/\\-}" "$sources/man/rpmemd.conf.5" ||
        fault "rpmemd.conf(5) does not tell of $name"
    [ -n "$default" ] || default='(all|none)'
    # The program prints the value of $HOME.
    [ "$name" != poolset-dir ] || default='\$HOME'
    [ "$name" != state-dir ] || default='see below'
    grep -qE -- "^ +$name .* $default\$" <<<"$overview" ||
        fault "the table of rpmemd.conf(5) does not have $name with default $default"
done < <(env -i HOME=/nowhere "$1" --config /dev/null --check-config |
    sed -E 's/ *# default.*//; s/^#//; s/ = ?/ /')
[ "$(wc -w <<<"$names")" -ge 18 ] || fault "rpmemd --check-config prints only $names"

while read -r name; do
    [[ " $names " == *" $name "* ]] || fault "rpmemd.conf(5) tells of $name, which is no setting"
done < <(sed -nE 's/^ +([a-z-]+) .*/\1/p' <<<"$overview" | grep -vx key)
exit $failed
