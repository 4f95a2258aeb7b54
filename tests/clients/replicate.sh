#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# replicate.sh GEOMETRY METHOD LANES
#
# Tests that a stock libpmemobj creates, uses and reopens a pool with a remote replica on a real
# target. It fails if the replica differs from the local pool, if stock tools do not accept it, or
# if the target uses another method or number of lanes.
#   GEOMETRY  single, multi or singlehdr: the parts on both sides
#   METHOD    msync, pmem or appliance: how the target makes data durable
#   LANES     limit for the client, or 0 for none
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
geometry=$1 method=$2 lanes=$3
threads=4 steps=15

general='General Purpose Server Persistency Method'
case $method in
msync)
    policy=$general flush=pmem_msync
    RPMEM_CMD=$(target_make 1)
    ;;
pmem)
    policy=$general flush=pmem_persist
    RPMEM_CMD=$(target_make 1 PMEM_IS_PMEM_FORCE=1)
    ;;
appliance)
    policy='Appliance Persistency Method' flush=none
    RPMEM_CMD=$(target_make 1 PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1 -- --persist-apm)
    ;;
*) fail "unknown method '$method'" ;;
esac
export RPMEM_CMD
if [ "$lanes" -gt 0 ]; then
    RPMEM_CLIENT_ENV="${RPMEM_CLIENT_ENV:-} RPMEM_MAX_NLANES=$lanes"
    threads=$lanes steps=$((48 / lanes))
fi
write_pool "$geometry"
add_remote "$LOCAL/alone.set" "$LOCAL/pool.set"

step "create: $geometry, $method, lanes $lanes"
must client pmempool create obj --layout=rpmem_workload "$LOCAL/pool.set"
expect_parts "$(target_set 1)"
expect_log 1 'persistency policy:'
expect_log 1 "    persist method: $policy"
expect_log 1 "    persist flush: $flush"
expect_same_bytes "$LOCAL/pool.set" "$(target_set 1)"

step "transactions by $threads threads"
must workload run "$LOCAL/pool.set" --threads $threads --steps $steps
[ "$lanes" -eq 0 ] || expect_lanes 1 "$lanes"

step "again, on the reopened pool"
must workload run "$LOCAL/pool.set" --threads $threads --steps $steps
must workload verify "$LOCAL/pool.set" --threads $threads --steps $((2 * steps)) \
    --extents "$LOCAL/extents"
expect_same_objects "$LOCAL/pool.set" "$(target_set 1)" "$LOCAL/extents"

step "the target's parts as others see them"
expect_part_accepted "$(parts_of "$(target_set 1)" | head -n 1)"
expect_usable $threads $((2 * steps)) "$(target_set 1)" "$LOCAL/pool.set"
must client pmempool info "$LOCAL/pool.set" >"$LOCAL/info"
grep -q '^pool set .*pool.set' "$LOCAL/info" || fail "pmempool info shows no remote replica"
