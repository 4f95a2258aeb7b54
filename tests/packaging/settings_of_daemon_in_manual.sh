#!/bin/bash
# settings_of_daemon_in_manual.sh RPMEMD SOURCES: rpmemd.conf(5) tells of every setting that is an
# option of the daemon, too.
set -eu
help=$("$1" --help)
for setting in log-file log-level use-syslog poolset-dir poolset-outside persist-apm persist-general \
    accept-timeout on-demand-paging device direct-access; do
    grep -qE -- "--$setting\b" <<<"$help"
    grep -qxF ".B ${setting//-/\\-}" "$2/man/rpmemd.conf.5" || {
        echo "rpmemd.conf(5) does not tell of $setting" >&2
        exit 1
    }
done
