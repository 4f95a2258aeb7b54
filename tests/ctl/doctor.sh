#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# doctor.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL [RPMEM_BENCH]
#
# Tests rpmemctl doctor and rpmemctl bench, and the completion of pool sets of the target by bash
# and zsh, with a real login below with-sshd. It fails if doctor reports a broken target as healthy
# or does not name the failed step, if a verb leaves a file on the target, or if a shell does not
# offer a name that exists.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
bench=${5:-}
sources=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$(dirname "$ctl"):$PATH

left_nothing() {
    [ -z "$(ls -A "$sets")" ] || fault "left on the target: $(ls -A "$sets")"
}

healthy() {
    run 0 doctor "$target" --json
    has '/action="doctor"' /healthy=true /steps/4/good=true '/steps/3/name="lane"' \
        '/steps/4/text~a persist of 4 KiB takes'
    run 0 doctor "$target"
    says 'lane       ok' 'a pool would use tcp' 'not over verbs: switched off'
    left_nothing
}

unhealthy() {
    RPMEM_ENABLE_TCP=0 run 1 doctor "$target" --json
    has /healthy=false /steps/0/good=false '/steps/0/text~no provider is common'
    # The only port that the daemon may use is in use.
    RPMEM_CMD="$base --port-range $RPMEM_TEST_SSH_PORT-$RPMEM_TEST_SSH_PORT" run 1 doctor "$target"
    says 'NOT healthy' 'session    FAILED'
    RPMEM_CMD="$daemon --poolset-dir $dir/missing" run 1 doctor "$target"
    says "the pool set directory $dir/missing"
    force --restricted
    run 1 doctor "$target"
    says --allow-admin
    unforce
    left_nothing
}

measured() {
    run 2 bench
    run 0 bench --help
    force --restricted
    run 1 bench "$target"
    says --allow-admin
    unforce
    [ -n "$bench" ] || return
    PATH=$(dirname "$bench"):$PATH run 0 bench "$target" --json
    "$json_has" "$dir/output" '/benchmarks/0/name~persist' || fault "no report"
    left_nothing
}

# offered_by_bash LINE: prints the completions at the end of LINE.
offered_by_bash() {
    # shellcheck disable=SC1090,SC1091
    {
        . /usr/share/bash-completion/bash_completion
        . "$sources/completion/bash/rpmemctl"
    }
    local COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS COMP_CWORD COMPREPLY=() COMP_WORDBREAKS='=: '
    read -ra COMP_WORDS <<<"${1//:/ : }"
    [[ $1 != *' ' ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _rpmemctl rpmemctl "${COMP_WORDS[COMP_CWORD]}" ""
    printf '%s\n' "${COMPREPLY[@]}"
}

offers() {
    local offers
    if [ -e /usr/share/bash-completion/bash_completion ]; then
        offers=$(offered_by_bash "$1")
        grep -qxF -- "$2" <<<"$offers" || fault "bash offers after '$1': $offers"
    fi
    if command -v zsh >/dev/null; then
        offers=$("$sources/tests/packaging/completion.zsh" "$sources/completion/zsh" "$1" | tr -s ' \t' '\n\n')
        grep -qxF -- "$2" <<<"$offers" || fault "zsh offers after '$1': $offers"
    fi
}

completed() {
    run 0 create "$target" a.set --size 4M
    run 0 create "$target" b.set --size 4M --set-only
    offers "rpmemctl info $target " b.set
    offers "rpmemctl pull --lanes 2 $target " a.set
    offers "rpmemctl push file $target " a.set
    offers "rpmemctl create --s" --set-only
}

run_parts healthy unhealthy measured completed
