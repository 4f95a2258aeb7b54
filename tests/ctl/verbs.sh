#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# verbs.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests the verbs of rpmemctl that are one action of the target: create, list, info, check,
# sessions, evict and remove, with a real login below with-sshd. It fails if a verb reports another
# state than the files have, removes or creates a file that it should not, ignores the rights of a
# key, or has another exit status than documented.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4

created() {
    run 0 create "$target" a.set --size 8M --json
    has /format=1 '/action="create"' /created=true /size=8388608 '/name="a.set"' "/target=\"$target\""
    [ "$(stat -c %s "$sets/a.set.part0")" = 8388608 ] || fault "no part"
    run 1 create "$target" a.set --size 8M
    says 'cannot make pool set a.set' 'File exists'
    mkdir "$sets/sub"
    run 0 create "$target" sub/two.set --size 10M --parts "$dir/p0" "$dir/p1"
    [ "$(stat -c %s "$dir/p0" "$dir/p1" | paste -sd' ')" = '5242880 5246976' ] || fault "wrong shares"
    run 0 create "$target" bare.set --size 4M --no-headers
    run 0 create "$target" later.set --size 4M --set-only --json
    has /created=false
    [ ! -e "$sets/later.set.part0" ] || fault "a pool was created"
    run 1 create "$target" ../a.set --size 4M
    says 'leads out of'
    run 1 create "$target" full.set --size 1000T --json
    has '/error/name="ENOSPC"' '/error/text~has'
    [ ! -e "$sets/full.set" ] || fault "a pool set file was left"
    run 1 create "$target" c.set --size 4M --parts relative
    says absolute
    run 1 create "$target" c.set --size 4M --parts $'/tmp/a\n/tmp/b'
    run 1 create "$target" c.set --size 4M --parts /etc/passwd
    [ ! -e "$sets/c.set" ] || fault "a pool set file was left"
}

listed() {
    echo nothing >"$sets/readme"
    printf 'PMEMPOOLSET\nrubbish\n' >"$sets/broken.set"
    run 0 list "$target" --json
    has '/action="list"' /complete=true "/poolset_dir=\"$sets\"" '/pool_sets/0/name="a.set"' \
        '/pool_sets/0/state="closed"' /pool_sets/0/size=8388608 '/pool_sets/0/sessions=[]' \
        '/pool_sets/1/name="bare.set"' '/pool_sets/1/headers="none"' \
        '/pool_sets/2/state="faulty"' '/pool_sets/2/problem~rubbish' \
        '/pool_sets/3/state="absent"' '/pool_sets/4/name="sub/two.set"' /pool_sets/4/parts=2
    run 0 list "$target"
    says 'a.set ' '8.0 MiB' closed absent "pool sets in $sets"
}

told() {
    run 0 info "$target" a.set --json
    has '/state="closed"' /in_use=false '/attributes/signature="RPMEMCTL"' /parts/0/size=8388608 \
        /shutdown_state/dirty=false "/parts/0/path=\"$sets/a.set.part0\"" '/sessions=[]'
    run 0 info "$target" bare.set --json
    has /attributes=null '/headers="none"' /shutdown_state=null
    run 0 info "$target" later.set --json
    has '/state="absent"' '/parts/0/problem~No such file'
    run 0 info "$target" sub/two.set
    says 'closed' "$dir/p0" 'signature RPMEMCTL' 'in use' 'created '
    run 1 info "$target" none.set --json
    has '/error/name="ENOENT"' '/error/code=2' '/action="info"'
    run 1 info "$target" ../../etc/passwd
    says 'leads out of'
    run 1 info "$target" /etc/passwd
    says 'is absolute'
    run 1 info "$target" readme
    says 'first line'
    grep -qF 'nothing' "$dir/errors" && fault "a file that is no pool set was quoted"
}

checked() {
    run 0 check "$target" a.set --json
    has /sound=true '/problem=""' /shutdown_state/dirty=false /last_writer=null
    run 0 check "$target" a.set
    says 'a.set: sound' 'shutdown state: closed'
    run 4 check "$target" later.set
    says 'NOT SOUND' 'No such file'
    cp "$sets/a.set.part0" "$dir/saved"
    printf 'x' | dd of="$sets/a.set.part0" bs=1 seek=100 conv=notrunc status=none
    run 4 check "$target" a.set --json
    has /sound=false '/problem~checksum'
    truncate -s 7M "$sets/a.set.part0"
    run 4 check "$target" a.set
    says 'the pool set file says'
    cat "$dir/saved" >"$sets/a.set.part0"
    run 1 check "$target" none.set
}

# Two parts that are hard links to one file must be reported by check and info.
one_file() {
    run 0 create "$target" linked.set --size 8M --parts "$dir/l0" "$dir/l1"
    ln -f "$dir/l0" "$dir/l1"
    run 4 check "$target" linked.set --json
    has /sound=false '/problem~are one file'
    run 4 check "$target" linked.set
    says 'are one file'
    run 0 info "$target" linked.set
    says 'are one file'
    rm -f "$sets/linked.set" "$dir/l0" "$dir/l1"
}

in_use() {
    run 0 sessions "$target"
    says 'no sessions'
    hold a.set
    run 0 sessions "$target" --json
    has "/sessions/0/pool_set=\"$sets/a.set\"" '/sessions/0/address="127.0.0.1"' \
        "/sessions/0/user=\"$(id -un)\"" /sessions/0/read_only=false
    run 0 info "$target" a.set --json
    has '/state="in use"' /in_use=true /parts/0/locked=true "/sessions/0/user=\"$(id -un)\"" \
        /shutdown_state/dirty=true
    run 0 list "$target" --json
    has '/pool_sets/0/state="in use"' '/pool_sets/0/sessions/0/address="127.0.0.1"'
    run 5 check "$target" a.set --json
    has '/error/name="EBUSY"' "/sessions/0/user=\"$(id -un)\"" '/error/text~127.0.0.1'
    run 5 remove "$target" a.set --json
    has '/error/name="EBUSY"'
    release || fault "the session was disturbed"
    run 0 sessions "$target"
    says 'no sessions'
    run 0 check "$target" a.set --json
    has /sound=true /last_writer/closed=true "/last_writer/user=\"$(id -un)\""
}

evicted() {
    run 1 evict "$target" 0123456789abcdef
    says 'there is no session'
    hold a.set
    run 0 sessions "$target" --json
    local id
    id=$(sed -nE 's/.*"id": "([0-9a-f]+)".*/\1/p' "$dir/output")
    run 0 evict "$target" "$id" --json
    has "/evicted/id=\"$id\""
    local since=$SECONDS status=0
    echo >&9
    release || status=$?
    [ "$status" = 116 ] || fault "the client got $status and not ESTALE" "$(cat "$dir/held")"
    grep -q 'rpmemctl evict' "$dir/held" || fault "the client was not told why" "$(cat "$dir/held")"
    [ $((SECONDS - since)) -lt 20 ] || fault "the client tried again"
    run 0 sessions "$target"
    says 'no sessions'
    run 4 check "$target" a.set
    says 'NOT closed'
    # Only a close of the same session, or a new pool, clears the mark.
    run 0 remove "$target" a.set
    run 0 create "$target" a.set --size 8M
}

removed() {
    run 0 remove "$target" bare.set --keep-set
    says 'removed bare.set'
    [ -e "$sets/bare.set" ] && [ ! -e "$sets/bare.set.part0" ] || fault "wrong files are there"
    run 1 remove "$target" bare.set
    run 0 remove "$target" bare.set --force --json
    has /removed=true '/action="remove"' '/parts=[]' /pool_set_file=true
    [ ! -e "$sets/bare.set" ] || fault "the pool set file is there"
    run 0 create "$target" bare.set --size 4M --no-headers
}

# --force ignores missing and faulty files. It must not remove a pool that is in use, and must not
# report the removal of files that did not exist or that remain.
removed_by_force() {
    run 1 remove "$target" misspelt.set --force --json
    has '/error/name="ENOENT"'
    run 0 create "$target" forced.set --size 4M
    hold forced.set
    run 5 remove "$target" forced.set --force --json
    has '/error/name="EBUSY"' "/sessions/0/user=\"$(id -un)\"" '/error/text~127.0.0.1'
    [ -e "$sets/forced.set" ] && [ -e "$sets/forced.set.part0" ] || fault "something was removed"
    release || fault "the session was disturbed"
    run 0 remove "$target" forced.set --force
    says "removed forced.set: $sets/forced.set.part0, and its pool set file"
    [ ! -e "$sets/forced.set" ] && [ ! -e "$sets/forced.set.part0" ] || fault "something is left"
    # A part of another pool must stay, and so must the pool set file that names it.
    run 0 create "$target" two.set --size 8M --parts "$dir/two0" "$dir/two1"
    run 0 create "$target" other.set --size 4M --parts "$dir/other"
    dd if="$dir/other" of="$dir/two1" bs=4096 count=1 conv=notrunc status=none
    run 1 remove "$target" two.set --force
    says "$dir/two1 cannot be removed"
    [ -e "$sets/two.set" ] && [ -e "$dir/two1" ] || fault "the part has lost its pool set"
    rm "$dir/two1"
    run 0 remove "$target" two.set --force
    run 0 remove "$target" other.set
}

# Output to a full disk must fail.
full_disk() {
    local verb
    for verb in "list $target" "list $target --json" "probe" "settings" "settings --json" "status --json" "--help" "--version"; do
        # shellcheck disable=SC2086 # words
        "$ctl" $verb >/dev/full 2>"$dir/errors" && fault "rpmemctl $verb >/dev/full: status 0"
        grep -q 'standard output' "$dir/errors" || fault "not said" "$(cat "$dir/errors")"
    done
    for verb in --help --version --probe --check-config "--list"; do
        # shellcheck disable=SC2086 # words
        $base $verb >/dev/full 2>"$dir/errors" && fault "rpmemd $verb >/dev/full: status 0"
    done
    true
}

# If a security setting is mistyped, nothing may be done without it.
security_settings() {
    local wrong
    for wrong in RPMEM_TLS=requirre RPMEM_REQUIRE_HELLO=yes RPMEM_READ_ONLY=maybe; do
        export "${wrong?}"
        run 1 list "$target"
        says "$wrong" 'no pool is used'
        run 1 remove "$target" a.set
        run 1 settings
        says WRONG
        "$hold_pool" "$target" a.set </dev/null >"$dir/held" 2>&1 && fault "a pool was opened with $wrong"
        grep -q "$wrong" "$dir/held" || fault "not said" "$(cat "$dir/held")"
        unset "${wrong%%=*}"
    done
    RPMEM_TSL=require run 0 settings
    says 'UNKNOWN: RPMEM_TSL'
    RPMEM_TSL=require run 0 settings --json
    says RPMEM_TSL
}

# Keys with --restricted, with and without --read-only and --allow-admin.
restricted() {
    local verb
    for options in --restricted '--restricted --allow-admin' '--restricted --read-only --allow-admin'; do
        force "$options"
        for verb in 'list' 'info a.set' 'check a.set'; do
            # shellcheck disable=SC2086 # words
            run 0 ${verb%% *} "$target" ${verb#"${verb%% *}"}
        done
    done
    force --restricted
    for verb in sessions 'evict 0' 'create d.set --size 4M'; do
        # shellcheck disable=SC2086 # words
        run 1 ${verb%% *} "$target" ${verb#"${verb%% *}"} --json
        has '/error/name="EACCES"' '/error/text~--allow-admin'
    done
    run 1 remove "$target" a.set
    says '--allow-remove'
    force --restricted --read-only --allow-admin
    run 0 sessions "$target"
    run 1 create "$target" d.set --size 4M
    says '--read-only'
    force --restricted --allow-admin
    run 0 create "$target" d.set --size 4M
    [ -e "$sets/d.set.part0" ] || fault "another part was made"
    # An administrator must not create files that a shell or sshd reads, nor use existing files.
    run 1 create "$target" .profile --size 4M
    says 'begins with "."'
    run 1 create "$target" e.set --size 4M --no-headers --parts "$dir/outside"
    says 'may not use --part'
    run 1 create "$target" e.set --size 4M --set-only
    says 'may not use --set-only'
    cp "$sets/d.set.part0" "$sets/e.set.part0"
    run 1 create "$target" e.set --size 4M --no-headers
    says 'there already'
    rm "$sets/e.set.part0"
    [ ! -e "$sets/e.set" ] && [ ! -e "$dir/outside" ] || fault "a file was made"
    unforce
    run 0 remove "$target" d.set
}

old_daemon() {
    printf '#!/bin/sh\necho "unrecognized option $1" >&2\nexit 1\n' >"$dir/old"
    chmod +x "$dir/old"
    RPMEM_CMD=$dir/old run 3 list "$target" --json
    has '/error/text~unrecognized'
    RPMEM_CMD='echo nonsense; true' run 1 list "$target"
    says 'begins with "nonsense'
    RPMEM_CMD="echo '{\"format\":1,\"pool_sets\":[7,{\"name\":\"a\\u001b[1m\"}],\"sessions\":3}'; true"
    export RPMEM_CMD
    local verb
    for verb in list 'info a' sessions 'create a --size 1M' 'evict 1'; do
        # shellcheck disable=SC2086 # words
        run 0 ${verb%% *} "$target" ${verb#"${verb%% *}"}
        grep -q $'\033' "$dir/output" && fault "a control character was printed"
    done
    unforce
    RPMEM_SSH=/bin/false run 1 list "$target"
    says RPMEM_SSH
}

usage() {
    local verb
    for verb in list info check create remove sessions evict; do
        run 2 $verb
        run 0 $verb --help
        says 'Examples:' 'Exit status' --json
    done
    run 2 create "$target" a.set
    run 2 list user@
    run 2 list "$target" more
    run 2 nonsense
    RPMEM_INLINE_SIZE=x run 1 settings --json
    has '/settings/0/name="RPMEM_SSH"' '/action="settings"'
    says 'not a number of bytes'
}

run_parts created listed told checked one_file in_use evicted removed removed_by_force full_disk security_settings restricted old_daemon usage
