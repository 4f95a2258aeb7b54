#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# help.sh RPMEMD RPMEMCTL [RPMEM-BENCH]
#
# Tests the help pages and the errors for wrong command lines of the real programs. A page must fit
# 80 columns and have a usage line and a text for each option and verb. An error must name the
# program, the wrong word and the right form. It fails if a page or a text comes from CLI11, whose
# words differ between its releases.
set -u

rpmemd=$1 rpmemctl=$2 bench=${3:-}
failed=0
fault() {
    printf '%s\n' "$*"
    failed=1
}

# page PROGRAM [VERB]: checks a help page.
page() {
    local name=${1##*/} text
    text=$("$@" --help) || fault "$* --help: status $?"
    [[ $text == "Usage: $name${2:+ $2}"* ]] || fault "$* --help does not begin with its usage: ${text%%$'\n'*}"
    ! grep -nE '.{81}' <<<"$text" || fault "$* --help is wider than 80 columns"
    ! grep -nE '\b(TEXT|UINT|INT|FLOAT|BOOLEAN|REQUIRED|OPTIONS|SUBCOMMAND|Positionals|Excludes|Needs)\b' <<<"$text" ||
        fault "$* --help has words of CLI11"
    ! grep -nE '[[:space:]]$' <<<"$text" || fault "$* --help has blanks at the end of lines"
    ! sed -zE 's/\n {12,}/ /g' <<<"$text" | grep -nE '^ {2,4}(-|[a-z]+$)[^ ]*( [A-Z][^ ]*)?$' ||
        fault "$* --help does not say what these are"
}

# refused TEXT WORD...: expects the command line WORDs to fail, with TEXT on standard error and a
# reference to --help.
refused() {
    local expected=$1 text status=0
    shift
    text=$("$@" 2>&1 >/dev/null) || status=$?
    [ "$status" != 0 ] || fault "$*: status 0"
    [[ $text == *"$expected"* ]] || fault "$*: expected '$expected', found '$text'"
    [[ $text == *" --help"* ]] || fault "$*: no word on --help in '$text'"
}

page "$rpmemd"
page "$rpmemctl"
verbs=0
while read -r verb; do
    page "$rpmemctl" "$verb"
    verbs=$((verbs + 1))
done < <("$rpmemctl" --help | sed -nE 's/^ {2}([a-z]+) .*/\1/p')
[ "$verbs" -ge 20 ] || fault "rpmemctl --help has only $verbs verbs"

refused 'rpmemd: command line: unrecognized option "--foo"; see' "$rpmemd" --foo
refused 'unexpected argument "stray"' "$rpmemd" stray
refused '--remove needs a value: -r, --remove POOLSET' "$rpmemd" --remove
refused '--list cannot be combined with --sessions' "$rpmemd" --list --sessions
refused '--probe cannot be combined with --remove' "$rpmemd" --remove a.set --probe
refused '--force is only allowed with --remove' "$rpmemd" --force
refused '--size: "x" is not a number from 0' "$rpmemd" --create-set a.set --size x

refused 'rpmemctl: a verb is missing; the verbs are probe, ' "$rpmemctl"
refused 'rpmemctl: unknown verb "lst"; the verbs are probe, ' "$rpmemctl" lst
refused $'rpmemctl list: TARGET is missing\nUsage: rpmemctl list TARGET [--json]' "$rpmemctl" list
refused 'rpmemctl list: unrecognized option "--foo"' "$rpmemctl" list --foo
refused 'rpmemctl list: unexpected argument "more"' "$rpmemctl" list target more
refused 'rpmemctl create: --size SIZE is missing' "$rpmemctl" create target a.set
refused 'rpmemctl create: --size: "x" is not a size such as' "$rpmemctl" create target a.set --size x
refused 'rpmemctl create: --size: "0" is not a size such as' "$rpmemctl" create target a.set --size 0
refused 'rpmemctl push: --lanes: "65" is not a number from 1 to 64' "$rpmemctl" push f target a.set --lanes 65
refused 'rpmemctl push: --lanes needs a value: --lanes N' "$rpmemctl" push f target a.set --lanes
refused 'rpmemctl push: --lanes can be given only once' "$rpmemctl" push f target a.set --lanes 1 --lanes 2
refused 'rpmemctl check: POOLSET or --all is missing' "$rpmemctl" check target
refused 'rpmemctl check: --all cannot be combined with POOLSET' "$rpmemctl" check target a.set --all
refused 'rpmemctl export: --textfile DIRECTORY is missing' "$rpmemctl" export
refused 'rpmemctl pause: PID:POOL is missing' "$rpmemctl" pause
refused 'rpmemctl pause: "4711" is not a process ID, a colon and a pool' "$rpmemctl" pause 4711
refused 'rpmemctl resume: "a:b" is not a process ID, a colon and a pool' "$rpmemctl" resume a:b
refused 'rpmemctl rate: BYTES_PER_SECOND|none is missing' "$rpmemctl" rate 1:a
refused 'rpmemctl rate: "65535" is neither "none" nor a number from 65536 to' "$rpmemctl" rate 1:a 65535

if [ -n "$bench" ]; then
    page "$bench"
    refused $'rpmem-bench: TARGET and POOLSET are missing\nUsage: rpmem-bench TARGET POOLSET' "$bench"
    refused 'rpmem-bench: POOLSET is missing' "$bench" target
    refused '--cases: "nothing" is not a case; the cases are ' "$bench" target a.set --cases nothing
    refused ' cannot be combined with --' "$bench" target a.set --table --cases persist
    refused '--sizes: "2G" is 2147483648 bytes; at most 1073741824 are allowed' "$bench" target a.set --sizes 8,2G
    refused '--lanes: "0" is not a number from 1 to 1024' "$bench" target a.set --lanes 1,0
fi
[ "$failed" = 0 ] && echo "$verbs verbs, and their programs"
exit "$failed"
