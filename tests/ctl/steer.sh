#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# steer.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests rpmemctl pause, resume and rate with a real program that has a pool and RPMEM_ON_LOSS=alone,
# below with-sshd. It fails if a verb has no effect, if its effect is not shown by status, if another
# user can steer the program, or if an error does not say what to do.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4
own=steer-$$.set
memory=$dir/memory
truncate -s 4M "$memory"
export RPMEM_EQUALIZE=yes RPMEM_RECONNECT_TIMEOUT=1000

# state_comes STATE: waits up to 30 s until status shows this state.
state_comes() {
    local deadline=$((SECONDS + 30))
    run 0 status "$holder" --json
    until "$json_has" "$dir/output" "/pools/0/state=\"$1\"" >/dev/null; do
        [ $SECONDS -lt $deadline ] || { fault "not $1" "$(cat "$dir/output")"; return; }
        sleep 0.1 # polls, because nothing signals a change of the state
        run 0 status "$holder" --json
    done
}

# bytes_at OFFSET: prints 64 bytes of the part on the target.
bytes_at() {
    dd if="${own_part:?}" bs=1 skip="$1" count=64 status=none | od -An -tx1
}

steers() {
    local before
    run 0 create "$target" "$own" --size 4M
    own_part=$(RPMEM_ON_LOSS=fail "$ctl" info "$target" "$own" --json | sed -nE 's/^ +"path": "([^"]+)",?$/\1/p')
    export RPMEM_ON_LOSS=alone
    hold "$own" "$memory"
    socket=$XDG_RUNTIME_DIR/librpmem/$holder.sock
    [ "$(stat -c %a "$socket")" = 600 ] || fault "the socket has not mode 600"
    printf 'a\n' >&9
    hears persisted
    run 0 pause "$holder:$own" --json
    has /format=1 '/action="pause"' "/pid=$holder" "/pool=\"$target:$own\""
    run 0 status "$holder"
    says 'paused, generation 0' 'last loss: paused by an operator'
    before=$(bytes_at 8192)
    printf 'b\n' >&9
    hears persisted
    run 0 pause "$holder:$target:$own"
    says "paused: $target:$own"
    state_comes paused
    [ "$(bytes_at 8192)" = "$before" ] || fault "the target was sent bytes"
    run 0 rate "$holder:$own" 70000 --json
    has '/action="rate"' /rate=70000
    run 0 rate "$holder:$own" none --json
    has /rate=null
    run 0 rate "$holder:$own" none
    says "maximum rate of $target:$own: none"
    run 0 resume "$holder:$own"
    says "resumed: $target:$own"
    state_comes connected
    [ "$(bytes_at 8192)" != "$before" ] || fault "the target lacks a call"
}

refuses() {
    run 1 pause "$holder:absent.set"
    says "process $holder has no pool absent.set; its pools are $target:$own"
    run 1 pause "4194303:$own" --json
    has /error/name='"ESRCH"' '/action="pause"'
    run 1 pause "$$:$own"
    says "process $$ has no open pool"
    kill -STOP "$holder"
    run 1 pause "$holder:$own"
    says 'did not answer within 10 s'
    kill -CONT "$holder"
    state_comes connected
    run 2 rate "$holder:$own" 1
    run 2 rate "$holder:$own"
    run 2 pause "$holder"
}

# Root may steer the program of any user, but no user that of root.
refuses_others() {
    [ "$(id -u)" = 0 ] || return 0
    local status=0
    setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" pause "$holder:$own" 2>"$dir/errors" || status=$?
    [ $status = 1 ] || fault "status $status for another user" "$(cat "$dir/errors")"
    : >"$dir/output"
    says "process $holder belongs to another user (0)"
    state_comes connected
}

completes() {
    local COMP_LINE COMP_POINT COMP_WORDS COMP_CWORD=2 COMPREPLY=() name="$holder:$target:$own"
    [ -e /usr/share/bash-completion/bash_completion ] || return 0
    # shellcheck disable=SC1090,SC1091
    . /usr/share/bash-completion/bash_completion
    # shellcheck disable=SC1091
    . "$here/../../completion/bash/rpmemctl"
    COMP_WORDS=("$ctl" pause "$holder") COMP_LINE="$ctl pause $holder" COMP_POINT=${#COMP_LINE}
    _rpmemctl "$ctl" "$holder" pause
    [[ " ${COMPREPLY[*]} " == *" $name "* ]] || fault "not completed: $name" "${COMPREPLY[*]}"
}

leaves_nothing() {
    local killed=$holder
    release || fault "status $? of the program" "$(cat "$dir/held")"
    [ ! -e "$socket" ] || fault "the socket is left"
    hold "$own" "$memory"
    killed=$holder
    kill -KILL "$holder"
    release 2>/dev/null
    [ -e "$XDG_RUNTIME_DIR/librpmem/$killed.sock" ] || fault "the killed program has left no socket"
    hold "$own" "$memory"
    [ ! -e "$XDG_RUNTIME_DIR/librpmem/$killed.sock" ] || fault "the socket of a killed program is left"
    release
}

names_the_reason() {
    RPMEM_ON_LOSS=fail hold "$own" "$memory"
    [ ! -e "$XDG_RUNTIME_DIR/librpmem/$holder.sock" ] || fault "a socket of no use"
    run 1 pause "$holder:$own"
    says 'does not go on alone; start the program with RPMEM_ON_LOSS=alone'
    release
    local runtime=$XDG_RUNTIME_DIR
    unset XDG_RUNTIME_DIR
    hold "$own" "$memory"
    run 1 pause "$holder:$own"
    says 'has no socket for rpmemctl: XDG_RUNTIME_DIR is not set' "XDG_RUNTIME_DIR=/run/user/$(id -u)"
    release
    export XDG_RUNTIME_DIR=$runtime
}

# Both have bytes that no session of this machine has written. The push proves which side is right.
steers_after_a_push() {
    local others=other-$own
    run 0 create "$target" "$others" --size 4M --no-headers
    head -c 4M /dev/urandom >"$dir/pushed"
    RPMEM_ON_LOSS=fail run 0 push "$dir/pushed" "$target" "$others"
    RPMEM_ON_LOSS=fail run 0 push "$dir/pushed" "$target" "$others"
    hold "$others" "$dir/pushed"
    printf 'a\n' >&9
    hears persisted
    run 0 pause "$holder:$others"
    release
    RPMEM_ON_LOSS=fail run 0 remove "$target" "$others" --force
}

run_parts steers refuses refuses_others completes leaves_nothing names_the_reason steers_after_a_push
