#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# compare.sh RPMEMCTL FILL_POOL
#
# Tests `rpmemctl verify` with pools of a stock libpmemobj, in various sizes, run by with-sshd. It
# fails if verify reports a difference because of addresses and locks that libpmemobj keeps only in
# its own copy, or if it does not find a single changed byte of the program's data.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
ctl=$1 fill_pool=$2
out=$RPMEM_TEST_DIR/out

# verify STATUS ARGUMENT...
verify() {
    local wanted=$1 status=0
    shift
    client "$ctl" verify "$LOCAL/$pool.$file" "$RPMEM_TEST_TARGET" "$pool.set" "$@" >"$out" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "verify $pool.$file $*: status $status, not $wanted: $(cat "$out")"
}

RPMEM_CMD=$(target_make 1)
export RPMEM_CMD
for size in 20M 200M 9M+11M; do
    pool=p$size
    first=${size%+*} second=${size#*+}
    step "a pool of $size"
    {
        printf 'PMEMPOOLSET\n%s %s\n' "$first" "$LOCAL/$pool.part0"
        [ "$first" = "$size" ] || printf '%s %s\n' "$second" "$LOCAL/$pool.part1"
        printf 'REPLICA %s %s.set\n' "$RPMEM_TEST_TARGET" "$pool"
    } >"$LOCAL/$pool.set"
    {
        printf 'PMEMPOOLSET\n%s %s\n' "$first" "$RPMEM_TEST_DIR/target1/parts/$pool.part0"
        [ "$first" = "$size" ] || printf '%s %s\n' "$second" "$RPMEM_TEST_DIR/target1/parts/$pool.part1"
    } >"$RPMEM_TEST_DIR/target1/sets/$pool.set"
    file=set
    must client "$fill_pool" create "$LOCAL/$pool.set" 0 >/dev/null
    verify 0
    offset=$(client "$fill_pool" open "$LOCAL/$pool.set" 2) || fail "the program failed"
    verify 0
    grep -q 'not compared: run-time state of libpmemobj' "$out" || fail "not said: $(cat "$out")"
    [ "$first" != "$size" ] || { file=part0; verify 0; file=set; }
    printf '\377' | dd of="$LOCAL/$pool.part0" bs=1 seek="$offset" conv=notrunc status=none
    verify 4
    [ "$(grep -c '^  offset' "$out")" = 1 ] || fail "more differs: $(cat "$out")"
    verify 0 --repair
    verify 0
done

step "a pool that was cut is not equal"
pool=p20M file=cut
head -c $((12 << 20)) "$LOCAL/p20M.part0" >"$LOCAL/p20M.cut"
verify 4
grep -q 'fewer than the pool' "$out" || fail "not said: $(cat "$out")"
echo "libpmemobj's replicas are equal"
