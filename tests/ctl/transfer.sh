#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# transfer.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests rpmemctl push, pull and verify with a real login and real lanes, below with-sshd. It fails
# if a byte is missing or moved without need, if different data is reported as equal, if another
# pool is overwritten, if a writer in between goes unnoticed, or if a pool is marked as equal
# without a complete comparison.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
hold_pool=$4

size=$((24 << 20))
image=$dir/image
back=$dir/back

# same FILE FILE FIRST: expects equal bytes from offset FIRST.
same() {
    cmp -s -i "$3" "$1" "$2" || fault "$1 and $2 differ" "$(cmp -i "$3" "$1" "$2")"
}

# same_image PART FILE: expects the same pool, and no shutdown state in FILE.
same_image() {
    same "$1" "$2" 4096
    cmp -s -n 4024 "$1" "$2" || fault "the headers differ"
    cmp -s -n 64 -i 4024:0 "$2" /dev/zero || fault "the image has a shutdown state"
}

# A file with the header of the pool, data, a hole of 8 MiB, and data.
make_image() {
    rm -f "$image"
    truncate -s $size "$image"
    head -c $((6 << 20)) /dev/urandom | dd of="$image" conv=notrunc status=none
    head -c $((2 << 20)) /dev/urandom | dd of="$image" bs=1M seek=16 conv=notrunc status=none
    dd if="$sets/p.set.part0" of="$image" bs=4096 count=1 conv=notrunc status=none
}

pushed() {
    run 0 create "$target" p.set --size 24M
    make_image
    run 4 verify "$image" "$target" p.set --json
    has '/action="verify"' /equal=false /differing=$(((8 << 20) - 4096)) /first=4096 \
        /ranges/0/offset=4096 /ranges/1/offset=$((16 << 20)) /ranges/1/length=$((2 << 20)) \
        /repaired=false /all_ranges=true
    run 0 push "$image" "$target" p.set --json
    has '/action="push"' /moved=$(((8 << 20) - 4096)) /lanes=4 /size=$size
    same "$image" "$sets/p.set.part0" 4096
    run 0 verify "$image" "$target" p.set
    says 'equal: 24.0 MiB' 'not compared: the header, 4096 bytes'
    run 0 push "$image" "$target" p.set --lanes 2 --json
    has /moved=0
    run 0 check "$target" p.set
}

repaired() {
    printf 'x' | dd of="$image" bs=1 seek=$((7 << 20)) conv=notrunc status=none
    dd if=/dev/zero of="$image" bs=1M seek=17 count=1 conv=notrunc status=none
    run 4 verify "$image" "$target" p.set
    says '2.0 MiB of 24.0 MiB differ' 'offset 0x700000, 1.0 MiB' 'offset 0x1100000, 1.0 MiB'
    run 0 verify "$image" "$target" p.set --repair --json
    has /equal=false /repaired=true /moved=$((2 << 20)) /lanes=4
    same "$image" "$sets/p.set.part0" 4096
    run 0 verify "$image" "$target" p.set --json
    has /equal=true '/ranges=[]'
}

pulled() {
    # Write a count of unsafe shutdowns, which the devices of this machine do not have.
    printf '\5' | dd of="$sets/p.set.part0" bs=1 seek=4024 conv=notrunc status=none
    run 0 pull "$target" p.set "$back" --json
    has '/action="pull"' /size=$size /lanes=4
    same_image "$sets/p.set.part0" "$back"
    [ "$(stat -c %b "$back")" -lt $((10 << 11)) ] || fault "no holes: $(stat "$back")"
    # The file is like one of an interrupted pull, or an old image. Only bytes that differ are
    # moved.
    truncate -s 9M "$back"
    printf 'xyz' | dd of="$back" bs=1 seek=$((12 << 10)) conv=notrunc status=none
    run 0 pull "$target" p.set "$back" --lanes 1 --json
    has /moved=$(((2 << 20))) # the first chunk without its header, the header, and a truncated chunk
    same_image "$sets/p.set.part0" "$back"
    printf 'xyz' | dd of="$back" bs=1 seek=$((20 << 20)) conv=notrunc status=none
    truncate -s 30M "$back"
    run 0 pull "$target" p.set "$back"
    says 'moved 4 KiB'
    same_image "$sets/p.set.part0" "$back"
}

# The file ends within a page, and the pool has two parts without headers. The file is shorter than
# the pool, so only --force compares and moves it.
odd_sizes() {
    run 0 create "$target" odd.set --size 12M --no-headers --parts "$dir/o0" "$dir/o1"
    head -c 7345679 /dev/urandom >"$dir/odd"
    run 4 push "$dir/odd" "$target" odd.set
    says 'fewer than the pool' 'nothing was moved'
    cmp -s -n 4096 "$dir/o0" /dev/zero || fault "it was moved"
    run 0 push "$dir/odd" "$target" odd.set --force --json
    has /moved=7345679 /first=0
    cat "$dir/o0" "$dir/o1" 2>/dev/null | head -c 7345679 | cmp -s - "$dir/odd" || fault "the pool is another one"
    run 4 verify "$dir/odd" "$target" odd.set --force --json
    has /equal=false /differing=0 /compared=7345679
    run 4 verify "$dir/odd" "$target" odd.set
    says 'nothing was compared'
}

# other_pool FILE: expects verify and push to refuse the file and to change nothing.
other_pool() {
    local before
    before=$(sha256sum "$sets/p.set.part0")
    run 4 verify "$1" "$target" p.set --json
    has '/error/name="EINVAL"'
    run 4 verify "$1" "$target" p.set --repair
    says 'nothing was moved'
    run 4 push "$1" "$target" p.set
    says 'nothing was moved'
    [ "$(sha256sum "$sets/p.set.part0")" = "$before" ] || fault "the pool was changed"
}

# Truncated or longer files, files that are not a pool, and other pools are never equal and never
# moved.
not_the_pool() {
    head -c $((12 << 20)) "$image" >"$dir/half"
    other_pool "$dir/half"
    says 'fewer than the pool'
    other_pool /etc/passwd
    says 'no pool header'
    head -c $size /dev/urandom >"$dir/random"
    other_pool "$dir/random"
    { cat "$image"; head -c 4096 /dev/zero; } >"$dir/longer"
    other_pool "$dir/longer"
    says 'more than the pool'
    run 0 create "$target" second.set --size 24M
    run 0 pull "$target" second.set "$dir/second"
    other_pool "$dir/second"
    says 'is not this pool'
    cp "$dir/second" "$dir/kept"
    run 4 pull "$target" p.set "$dir/second"
    says 'is another pool'
    cmp -s "$dir/second" "$dir/kept" || fault "another pool was overwritten"
    run 0 pull "$target" p.set "$dir/second" --force
    same_image "$sets/p.set.part0" "$dir/second"
}

# A local pool of several parts consists of all parts in its pool set file.
several_parts() {
    local local_set=$dir/local.set
    run 0 create "$target" parts.set --size 16M --parts "$dir/r0" "$dir/r1"
    run 0 create "$target" mine.set --size 16M --parts "$dir/l0" "$dir/l1"
    printf 'PMEMPOOLSET\n9M %s\n9M %s\nREPLICA %s parts.set\n' "$dir/l0" "$dir/l1" "$target" >"$local_set"
    run 4 verify "$local_set" "$target" parts.set
    says 'is not this pool'
    # With the same poolset_uuid it is a replica of the pool.
    dd if="$dir/r0" of="$dir/l0" bs=4096 count=1 conv=notrunc status=none
    run 0 verify "$local_set" "$target" parts.set
    says equal:
    printf 'x' | dd of="$dir/l1" bs=1 seek=$((6 << 20)) conv=notrunc status=none # beyond part 0
    run 4 verify "$dir/l0" "$target" parts.set
    says 'fewer than the pool'
    run 4 verify "$local_set" "$target" parts.set --json
    has /equal=false "/ranges/0/length=$((1 << 20))"
    run 0 verify "$local_set" "$target" parts.set --repair
    same "$dir/l0" "$dir/r0" 4096
    same "$dir/l1" "$dir/r1" 4096
    printf 'y' | dd of="$dir/l1" bs=1 seek=$((6 << 20)) conv=notrunc status=none
    head -c 4096 "$dir/l1" >"$dir/l1.header"
    run 0 pull "$target" parts.set "$local_set"
    same "$dir/l1" "$dir/r1" 4096
    cmp -s -n 4096 "$dir/l1" "$dir/l1.header" || fault "the header of part 1 was changed"
}

# A key that may only read can pull and verify, and cannot push or repair.
restricted() {
    printf 'different' | dd of="$image" bs=1 seek=$((7 << 20)) conv=notrunc status=none
    force --restricted
    run 4 verify "$image" "$target" p.set
    run 0 pull "$target" p.set "$dir/again"
    same_image "$sets/p.set.part0" "$dir/again"
    force --restricted --read-only
    run 0 pull "$target" p.set "$dir/again"
    run 1 push "$image" "$target" p.set --json
    has '/error/name="EACCES"'
    run 1 verify "$image" "$target" p.set --repair
    says 'read-only'
    same_image "$sets/p.set.part0" "$dir/again"
    unforce
}

refused() {
    local verb
    hold p.set
    run 5 verify "$image" "$target" p.set --json
    has '/error/name="EBUSY"' "/sessions/0/user=\"$(id -un)\""
    run 5 pull "$target" p.set "$dir/other"
    says 'has it, since'
    run 5 push "$image" "$target" p.set
    [ ! -e "$dir/other" ] || fault "a file was made"
    release || fault "the session was disturbed"
    for verb in verify push; do
        run 1 $verb "$dir/missing" "$target" p.set --json
        has '/error/name="ENOENT"'
        run 1 $verb "$dir" "$target" p.set
        says 'not a regular file'
        : >"$dir/empty"
        run 1 $verb "$dir/empty" "$target" p.set
        says 'is empty'
        run 1 $verb "$image" "$target" none.set
        run 2 $verb "$image" "$target"
        run 2 $verb "$image" "$target" p.set --lanes 0
    done
    run 1 pull "$target" p.set "$dir"
    run 1 pull "$target" p.set "$dir/missing/file"
    run 1 pull "$target" p.set /dev/null
    says 'not a regular file'
}

# Malformed digests of the target must be refused.
target_lies() {
    local lie
    for lie in '"size":4096' '"size":4096,"first":0,"length":4096,"chunk":0,"digests":[]' \
        '"size":4096,"first":0,"length":9223372036854775807,"chunk":4096,"digests":["a"]' \
        '"size":8192,"first":0,"length":8192,"chunk":4096,"digests":[7,{}]' \
        '"size":8192,"first":1,"length":8192,"chunk":8192,"digests":["00000000000000000000000000000000"]'; do
        cat >"$dir/lying" <<END
#!/bin/sh
case \$* in *--digest*) echo '{"format":1,"algorithm":"xxh3-128",$lie}' ;; *) exec $base "\$@" ;; esac
END
        chmod +x "$dir/lying"
        RPMEM_CMD=$dir/lying
        export RPMEM_CMD
        run 1 verify "$image" "$target" p.set
        says 'digests are malformed'
        run 1 pull "$target" p.set "$dir/none"
        [ ! -e "$dir/none" ] || fault "a file was made"
    done
    unforce
}

# shortened_by digest|session STATUS ARGUMENT...: like run, but the file $short is truncated when
# rpmemctl requests digests or a session. At that time rpmemctl has the file open.
shortened_by() {
    local moment=$1
    shift
    cat >"$dir/shortening" <<END
#!/bin/sh
case \$* in *--digest*) asked=digest ;; *--info*) asked=info ;; *) asked=session ;; esac
[ \$asked != $moment ] || truncate -s 1M '$short'
exec $base "\$@"
END
    chmod +x "$dir/shortening"
    RPMEM_CMD=$dir/shortening run "$@"
}

shortened() {
    short=$dir/shortened
    make_image
    cp --sparse=always "$image" "$short"
    shortened_by session 1 push "$short" "$target" p.set
    says 'shortened has become shorter while it was read'
    cp --sparse=always "$image" "$short"
    shortened_by session 1 verify --repair "$short" "$target" p.set --json
    has '/error/name="EINVAL"'
    # The truncated range was a hole, and the pool has zeros there.
    run 0 create "$target" zeros.set --size 4M --no-headers
    truncate -s 0 "$short"
    truncate -s 4M "$short"
    shortened_by digest 1 verify "$short" "$target" zeros.set
    says 'has become shorter'
    truncate -s 4M "$short"
    # pull sets the size of the file after it has the session.
    shortened_by session 0 pull "$target" zeros.set "$short"
    [ "$(stat -c %s "$short")" = $((4 << 20)) ] || fault "$(stat "$short")"
}

# kill_holder SET: kills the program that hold started, so that it ends without a close.
kill_holder() {
    kill -KILL "$holder"
    wait "$holder" 2>/dev/null
    exec 9>&- 7<&-
    rm -f "$dir/fifo" "$dir/said"
    flock -w 30 "$sets/$1.part0" true || fault "the daemon does not end"
}

# write_once: makes the holder persist once.
write_once() {
    echo x >&9
    hears persisted
}

# in_between MOMENT COUNT STATUS ARGUMENT...: like run, but another writer opens, writes and closes
# p.set at the COUNTth request of rpmemctl for MOMENT, which is info, digest or session.
in_between() {
    local moment=$1 count=$2
    shift 2
    rm -f "$dir/asked"
    cat >"$dir/intruding" <<END
#!/bin/sh
case \$* in *--info*) asked=info ;; *--digest*) asked=digest ;; *--mark-equal*) asked=mark ;; *) asked=session ;; esac
if [ \$asked = $moment ]; then
    echo >>'$dir/asked'
    if [ "\$(wc -l <'$dir/asked')" = $count ]; then
        export RPMEM_CMD='$base' RPMEM_SSH='$RPMEM_SSH' RPMEM_ENABLE_VERBS=0
        echo x | '$hold_pool' '$target' p.set >'$dir/intruder' 2>&1 ||
            echo failed >>'$dir/intruder'
    fi
fi
exec $base "\$@"
END
    chmod +x "$dir/intruding"
    : >"$dir/intruder"
    RPMEM_CMD=$dir/intruding run "$@"
    grep -q persisted "$dir/intruder" || fault "nobody wrote in between" "$(cat "$dir/intruder")"
}

# If a writer comes in between, the bytes are from two states of the pool. rpmemctl must report
# that.
writer_in_between() {
    run 0 pull "$target" p.set "$dir/before"
    in_between digest 1 1 verify "$dir/before" "$target" p.set --json
    has '/error/name="ESTALE"' '/error/text~another session has opened pool p.set for writing'
    run 0 pull "$target" p.set "$dir/before"
    in_between info 2 1 verify "$dir/before" "$target" p.set
    says 'is of two states of the pool'
    in_between session 1 1 pull "$target" p.set "$dir/mixed"
    says 'another session has opened pool p.set for writing' 'may be of two states of the pool'
    [ ! -e "$dir/mixed" ] || fault "a mixed image has the name of a whole one"
    cp "$dir/before" "$dir/mixed"
    in_between info 2 1 pull "$target" p.set "$dir/mixed"
    says 'may be of two states of the pool'
    cmp "$dir/before" "$dir/mixed" || fault "a mixed image replaced a whole one"
    make_image
    in_between session 1 1 push "$image" "$target" p.set
    says 'may not be equal'
    in_between info 2 1 push "$image" "$target" p.set --json
    has '/error/name="ESTALE"'
    run 0 push "$image" "$target" p.set
    run 0 verify "$image" "$target" p.set
    run 0 pull "$target" p.set "$dir/mixed"
    same_image "$sets/p.set.part0" "$dir/mixed"
}

# claim_of SET
claim_of() {
    run 0 info "$target" "$1" --json
    grep -E '"(pool_id|epoch|generation)"' "$dir/output"
}

# An initiator that is cut off keeps its claim while others only read, and can continue.
pull_takes_nothing() {
    local claim
    hold p.set
    write_once
    run 0 sessions "$target" --json
    kill -STOP "$holder"
    kill -KILL "$(grep -oP '"pid": \K[0-9]+' "$dir/output")"
    flock -w 30 "$sets/p.set.part0" true || fault "the daemon does not end"
    claim=$(claim_of p.set)
    run 0 pull "$target" p.set "$dir/mixed"
    run 4 verify "$image" "$target" p.set
    [ "$(claim_of p.set)" = "$claim" ] || fault "the claim was taken: $claim" "$(claim_of p.set)"
    kill -CONT "$holder"
    write_once
    release || fault "the writer was harmed: $?"
    [ "$(claim_of p.set)" != "$claim" ] || fault "the writer has no later generation"
}

# behind SET STATUS: expects this status of check. 4 means that the pool is marked as behind.
behind() {
    run "$2" check "$target" "$1"
    [ "$2" = 0 ] || says 'may be behind'
}

# Only a comparison that ends with both sides equal removes the mark.
marked_equal() {
    local word='"behind_since": null' claim
    run 0 create "$target" b.set --size 24M
    run 0 pull "$target" b.set "$dir/b"
    hold b.set
    write_once
    kill_holder b.set
    behind b.set 4
    hold b.set
    write_once
    release || fault "the pool cannot be opened"
    behind b.set 4
    run 4 verify "$dir/b" "$target" b.set
    run 0 pull "$target" b.set "$dir/b2"
    run 0 verify "$dir/b2" "$target" b.set
    behind b.set 4
    run 0 push "$dir/b" "$target" b.set --json
    has /marked_equal=true
    behind b.set 0
    hold b.set
    write_once
    kill_holder b.set
    behind b.set 4
    run 0 verify --repair "$dir/b" "$target" b.set --json
    has /repaired=true /marked_equal=true
    behind b.set 0
    hold b.set
    kill_holder b.set
    behind b.set 4
    run 0 info "$target" b.set --json
    grep -qF "$word" "$dir/output" && fault "no mark"
    # A claim of another pool, or a malformed one, must not remove the mark.
    for claim in 0123456789abcdef0123456789abcdef-1-0 nonsense; do
        $base --mark-equal b.set --claim $claim >"$dir/output" 2>"$dir/errors" </dev/null &&
            fault "marked by $claim"
        has '/error/name="ESTALE"'
    done
    behind b.set 4
    run 0 verify --repair "$dir/b" "$target" b.set --json
    has /repaired=false /equal=true /marked_equal=true
    behind b.set 0
    run 0 push "$dir/b" "$target" b.set --json
    has /marked_equal=false
}

# A pool that is catching up is inconsistent, until it was compared and repaired as a whole.
catching_up() {
    local since=1700000000 shown='2023-11-14 22:13:20'
    run 0 create "$target" c.set --size 24M
    run 0 pull "$target" c.set "$dir/c"
    hold c.set
    write_once
    release || fault "the pool cannot be opened"
    run 0 check "$target" c.set
    "$here/catch_up" "$sets/c.set.part0" $since || fault "the record cannot be changed"
    run 4 check "$target" c.set
    says "inconsistent: it has been catching up with its source since $shown" 'rpmemctl push'
    run 4 check "$target" c.set --json
    has /catching_up_since=$since /behind_since=null /sound=true
    run 4 check "$target" --all
    says "catching up, inconsistent since $shown"
    run 4 check "$target" --all --json
    grep -qF '"state": "catching up"' "$dir/output" || fault "a wrong state" "$(cat "$dir/output")"
    run 0 list "$target"
    says "catching up, inconsistent since $shown"
    run 0 list "$target" --json
    grep -qF '"state": "catching up"' "$dir/output" || fault "a wrong state" "$(cat "$dir/output")"
    grep -qF "\"catching_up_since\": $since" "$dir/output" || fault "no time"
    run 0 info "$target" c.set --json
    has '/state="catching up"' /catching_up_since=$since /behind_since=null
    run 0 info "$target" c.set
    says "inconsistent: it has been catching up"
    # Neither a comparison without a repair, nor a pull, nor a session ends it.
    run 4 verify "$dir/c" "$target" c.set
    run 0 pull "$target" c.set "$dir/c2"
    says 'it is catching up with user'
    export RPMEM_EQUALIZE=no # the memory of this program is not the source, so it would be refused
    hold c.set
    unset RPMEM_EQUALIZE
    release || fault "a program that does not compare cannot open the pool"
    run 4 check "$target" c.set
    RPMEM_ON_LOSS=alone run 0 push "$dir/c" "$target" c.set --json # a tool never goes on alone
    has /marked_equal=true
    run 0 check "$target" c.set --json
    has /catching_up_since=null
    "$here/catch_up" "$sets/c.set.part0" $since || fault "the record cannot be changed"
    run 0 verify --repair "$dir/c" "$target" c.set --json
    has /repaired=false /marked_equal=true
    run 0 info "$target" c.set --json
    has '/state="closed"' /catching_up_since=null
    # Its program has to make it equal, so only an operator may remove it.
    "$here/catch_up" "$sets/c.set.part0" $since || fault "the record cannot be changed"
    run 1 remove "$target" c.set
    says 'has not made it equal' '--force'
    run 0 info "$target" c.set
    run 0 remove "$target" c.set --force
}

usage() {
    local verb
    for verb in verify push pull; do
        run 2 $verb
        run 0 $verb --help
        says 'Examples:' 'Exit status' --json --lanes
    done
}

run_parts pushed repaired pulled odd_sizes not_the_pool several_parts restricted refused target_lies shortened writer_in_between pull_takes_nothing marked_equal catching_up usage
