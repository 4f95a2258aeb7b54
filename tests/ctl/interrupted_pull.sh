#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# interrupted_pull.sh RPMEMCTL RPMEMD JSON_HAS RECORDER
#
# Tests interrupted pulls with a real target below with-sshd. The recorder makes fsync(2) of
# rpmemctl slow, so that it can be killed when all bytes are written and none is durable, and makes
# a write fail. It fails if an incomplete file has the name of the pool, if an old image is damaged,
# or if the next pull cannot continue.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"
recorder=$4

back=$dir/back
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

made() {
    run 0 create "$target" p.set --size 24M
    head -c $((6 << 20)) /dev/urandom | dd of="$sets/p.set.part0" bs=4096 seek=1 conv=notrunc status=none
}

# killed_while_syncing ARGUMENT...: kills rpmemctl when it has written all data.
killed_while_syncing() {
    local i
    rm -f "$dir/begins"
    LD_PRELOAD=$recorder RPMEM_RECORDER_BEGINS=$dir/begins RPMEM_RECORDER_DELAY_MS=20000 \
        "$ctl" "$@" </dev/null >"$dir/output" 2>&1 &
    for ((i = 0; i < 400; ++i)); do
        grep -qs fsync "$dir/begins" && break
        sleep 0.05
    done
    [ "$i" -lt 400 ] || fault "it did not come to fsync" "$(cat "$dir/output")"
    kill -KILL $!
    wait $! 2>/dev/null
}

same_data() {
    cmp -s -i 4096 "$sets/p.set.part0" "$1" || fault "$1 is not the pool"
}

killed() {
    killed_while_syncing pull "$target" p.set "$back"
    [ ! -e "$back" ] || fault "a file without a mark is left" "$(ls -l "$dir")"
    [ "$(stat -c %s "$back.partial")" = $((24 << 20)) ] || fault "nothing to continue with"
    run 0 pull "$target" p.set "$back" --json
    has /moved=4096 # the header; the other bytes are not moved again
    same_data "$back"
    [ ! -e "$back.partial" ] || fault "the partial file is still there"
}

# The old image stays until the new one is complete, and the new one has its mode.
old_image_stays() {
    chmod 0640 "$back"
    cp "$back" "$dir/old"
    printf 'changed' | dd of="$sets/p.set.part0" bs=1 seek=$((3 << 20)) conv=notrunc status=none
    killed_while_syncing pull "$target" p.set "$back"
    cmp -s "$back" "$dir/old" || fault "the old image was changed"
    run 0 pull "$target" p.set "$back"
    same_data "$back"
    [ "$(stat -c %a "$back")" = 640 ] || fault "$(stat "$back")"
    ln -s back "$dir/link"
    run 0 pull "$target" p.set "$dir/link"
    [ -L "$dir/link" ] || fault "the link was replaced"
}

failed_write() {
    rm -f "$back"
    LD_PRELOAD=$recorder RPMEM_RECORDER_FAULTS="pwrite:back:40:5" run 1 pull "$target" p.set "$back" --lanes 1
    says 'cannot write' "$back.partial"
    [ ! -e "$back" ] && [ -e "$back.partial" ] || fault "wrong files" "$(ls -l "$dir")"
    run 0 pull "$target" p.set "$back" --lanes 1
    same_data "$back"
}

# A partial file of another pool must not be continued.
of_another_pool() {
    run 0 create "$target" q.set --size 24M
    rm -f "$back"
    killed_while_syncing pull "$target" q.set "$back"
    run 4 pull "$target" p.set "$back"
    says "$back.partial is another pool"
    run 0 pull "$target" p.set "$back" --force
    same_data "$back"
}

two_at_once() {
    rm -f "$back"
    exec 8>"$back.partial"
    flock 8
    run 5 pull "$target" p.set "$back"
    says 'another rpmemctl'
    exec 8>&-
    rm -f "$back.partial"
}

# During a pull into a pool set, its first part has another name.
pool_set() {
    local set=$dir/local.set
    run 0 create "$target" parts.set --size 16M --parts "$dir/r0" "$dir/r1"
    run 0 create "$target" mine.set --size 16M --parts "$dir/l0" "$dir/l1"
    printf 'PMEMPOOLSET\n%s %s\n%s %s\n' "$(stat -c %s "$dir/l0")" "$dir/l0" "$(stat -c %s "$dir/l1")" "$dir/l1" \
        >"$set"
    dd if="$dir/r0" of="$dir/l0" bs=4096 count=1 conv=notrunc status=none
    run 0 pull "$target" parts.set "$set"
    [ -e "$dir/l0" ] || fault "a pull of nothing takes the part away"
    printf 'x' | dd of="$dir/r1" bs=1 seek=$((6 << 20)) conv=notrunc status=none
    killed_while_syncing pull "$target" parts.set "$set"
    [ ! -e "$dir/l0" ] && [ -e "$dir/l0.partial" ] || fault "the pool set has no mark" "$(ls -l "$dir")"
    run 1 verify "$set" "$target" parts.set
    says 'was interrupted' "$dir/l0.partial"
    run 0 pull "$target" parts.set "$set"
    [ -e "$dir/l0" ] && [ ! -e "$dir/l0.partial" ] || fault "the part is not back"
    run 0 verify "$set" "$target" parts.set
}

run_parts made killed old_image_stays failed_write of_another_pool two_at_once pool_set
