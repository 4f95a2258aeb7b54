#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_all.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests `rpmemctl check --all` with a real login, below with-sshd. One of the pools is like one of
# rpmemd 1.12.1: its header is a recorded page, its part has mode 0666, and it has no attribute. It
# fails if a faulty pool is reported as sound or a sound one as faulty, if a printed chmod does not
# repair the pool, or if an incomplete check succeeds.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4
headers=$(dirname "$0")/../data/headers

# lines COUNT PATTERN: expects this number of matching lines in the last output.
lines() {
    local count
    count=$(grep -cE -- "$2" "$dir/output")
    [ "$count" = "$1" ] || fault "$count lines match '$2', not $1" "$(cat "$dir/output")"
}

nothing() {
    run 0 check "$target" --all
    says none
    run 0 check "$target" --all --json
    has /format=1 '/action="check"' /complete=true "/poolset_dir=\"$sets\"" '/pools=[]'
}

sound() {
    run 0 create "$target" a.set --size 8M
    run 0 create "$target" sub.set --size 8M --parts "$dir/p0" "$dir/it's"
    run 0 check "$target" --all
    lines 1 '^  a\.set +8\.0 MiB  sound$'
    lines 2 '^  '
    grep -q chmod "$dir/output" && fault "a command where nothing is to be done"
    run 0 check "$target" --all --json
    has '/pools/0/name="a.set"' '/pools/0/state="sound"' /pools/0/size=8388608 '/pools/0/repairs=[]' \
        /pools/0/behind_since=null '/pools/0/problem=""' '/pools/1/state="sound"'
}

# A pool like one of 1.12.1 is faulty until the printed commands have run.
of_1_12_1() {
    cp "$headers/hdr-attr-default-part0.bin" "$sets/old.part0"
    truncate -s 8M "$sets/old.part0"
    printf 'PMEMPOOLSET\n8M %s\n' "$sets/old.part0" >"$sets/old.set"
    chmod 0666 "$sets/old.part0" "$dir/p0" "$dir/it's"
    "$hold_pool" "$target" old.set </dev/null >"$dir/held" 2>&1 && fault "the part of everybody was used"
    run 4 check "$target" --all
    lines 1 '^  old\.set .*  faulty: .*everybody may write to '
    lines 1 '^  sub\.set .*  faulty: '
    lines 1 '^  a\.set .*  sound$'
    lines 3 '^  chmod go-w '
    says "chmod go-w $sets/old.part0" "chmod go-w '$dir/it'\\''s'" 'run on the target'
    run 4 check "$target" old.set
    says 'NOT SOUND' "  chmod go-w $sets/old.part0"
    run 4 check "$target" old.set --json
    has /sound=false "/repairs/0=\"chmod go-w $sets/old.part0\""
    run 4 check "$target" --all --json
    has '/pools/1/name="old.set"' '/pools/1/state="faulty"' "/pools/1/repairs/0=\"chmod go-w $sets/old.part0\"" \
        "/pools/2/repairs/0=\"chmod go-w $dir/p0\""
    run 4 check "$target" --all
    grep '^  chmod' "$dir/output" >"$dir/repairs"
    sh "$dir/repairs" || fault "the commands fail" "$(cat "$dir/repairs")"
    run 0 check "$target" --all
    lines 3 '  sound$'
    hold old.set
    release || fault "the pool of 1.12.1 cannot be opened" "$(cat "$dir/held")"
    cmp -s -n 4024 "$sets/old.part0" "$headers/hdr-attr-default-part0.bin" || fault "the header has changed"
    run 0 check "$target" --all
}

# The group may write, with and without a setting that permits it, and a part has another owner. For
# that part no chmod may be printed.
modes() {
    chmod 0660 "$sets/old.part0"
    run 4 check "$target" --all
    says "  chmod go-w $sets/old.part0"
    RPMEM_CMD="$base --part-mode 0660" run 0 check "$target" --all
    chmod 0666 "$sets/old.part0"
    RPMEM_CMD="$base --part-mode 0660" run 4 check "$target" --all
    says "  chmod go-w $sets/old.part0"
    if [ "$(id -u)" = 0 ]; then
        chown 4242 "$sets/old.part0"
        run 4 check "$target" --all
        lines 1 '^  old\.set .*faulty: .*belongs to user 4242'
        lines 0 '^  chmod'
        chown 0 "$sets/old.part0"
    fi
    chmod 0600 "$sets/old.part0"
}

other_states() {
    hold a.set
    run 5 check "$target" --all
    lines 1 '^  a\.set .*  in use: .*127\.0\.0\.1'
    lines 2 '  sound$'
    run 5 check "$target" --all --json
    has '/pools/0/state="in use"'
    run 0 sessions "$target" --json
    run 0 evict "$target" "$(sed -nE 's/.*"id": "([0-9a-f]+)".*/\1/p' "$dir/output")"
    echo >&9
    release
    run 4 check "$target" --all
    lines 1 '^  a\.set .*  behind since .*: a session was not closed, or another program has changed the parts$'
    run 0 remove "$target" a.set
    printf 'PMEMPOOLSET\nrubbish\n' >"$sets/broken.set"
    run 0 check "$target" old.set
    run 4 check "$target" --all
    lines 1 '^  broken\.set .*  faulty: .*rubbish'
    rm "$sets/broken.set"
    run 0 create "$target" later.set --size 4M --set-only
    run 4 check "$target" --all
    lines 1 '^  later\.set .*  absent: '
    # The exit status is that of the worst pool, in whatever order they come.
    hold old.set
    run 4 check "$target" --all
    release
    rm "$sets/later.set"
    run 0 check "$target" --all
}

# A directory that is too large to be checked completely must not be reported as sound.
too_many() {
    local i
    for ((i = 0; i < 4100; ++i)); do
        printf 'PMEMPOOLSET\n8M %s/many%s\n' "$dir" "$i" >"$sets/many$i"
    done
    run 4 check "$target" --all
    says 'were not checked'
    rm "$sets"/many*
    mkdir "$sets/files"
    (cd "$sets/files" && seq 65536 | xargs touch)
    run 1 check "$target" --all
    says 'were not checked'
    run 1 check "$target" --all --json
    has /complete=false
    rm -rf "$sets/files"
}

restricted() {
    force --restricted --read-only
    run 0 check "$target" --all
    lines 2 '  sound$'
    # This key may not see the owner of another session.
    unforce
    hold old.set
    force --restricted
    run 5 check "$target" --all
    lines 1 '^  old\.set .*  in use: '
    grep -qF 127.0.0.1 "$dir/output" && fault "a session of others was shown"
    unforce
    release || fault "the session was disturbed"
}

refused() {
    run 2 check "$target"
    run 2 check "$target" old.set --all
    run 0 check --help
    says --all
    printf '#!/bin/sh\necho "unrecognized option $1" >&2\nexit 1\n' >"$dir/old"
    chmod +x "$dir/old"
    RPMEM_CMD=$dir/old run 3 check "$target" --all
    RPMEM_CMD="$base --poolset-dir $dir/none" run 1 check "$target" --all
    says 'does not exist'
}

run_parts nothing sound of_1_12_1 modes other_states too_many restricted refused
