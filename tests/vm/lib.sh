# SPDX-License-Identifier: BSD-3-Clause
# Functions for the scripts in the virtual machines. Sourced by bash.
# shellcheck shell=bash
set -u

export RPMEM_ENABLE_VERBS=1 RPMEM_ENABLE_SOCKETS=0
# libfabric must search devices for only one provider. ssh also passes this to the target.
export FI_PROVIDER=verbs
# A lost session makes a call fail here. Other scenarios test the reconnect.
export RPMEM_RECONNECT_TIMEOUT=0
failed=0

# step NAME COMMAND...: runs a step. Later steps run even if it fails, so that one boot shows all
# failures.
step() {
    local name=$1 started=$SECONDS status=0
    shift
    "$@" || status=$?
    if [ "$status" -eq 0 ]; then
        printf '=== ok: %s (%s s)\n' "$name" $((SECONDS - started))
    else
        printf '=== FAILED: %s: status %s (%s s)\n' "$name" "$status" $((SECONDS - started))
        failed=$((failed + 1))
    fi
}

finish() {
    [ "$failed" -eq 0 ] || printf '%s steps failed\n' "$failed"
    exit $((failed > 0))
}

# expect TEXT FILE...: expects TEXT in one of the files, and prints them otherwise.
expect() {
    local text=$1
    shift
    grep -qF -- "$text" "$@" && return
    printf 'not there: %s\n' "$text"
    cat "$@"
    return 1
}

# on_target COMMAND...: runs the words with the target's shell.
on_target() {
    local host=${RPMEM_TEST_TARGET%:*}
    "$RPMEM_SSH" -T "-p$RPMEM_TEST_SSH_PORT" "${host//[\[\]]/}" "$@" </dev/null
}

# replica METHOD MIB LANES: replicates a pool of this size, and compares it byte by byte with the
# part on the target. RPMEM_REPLICA and RPMEM_TEST_DAEMON name the programs.
#   METHOD  msync, pmem or appliance: how the target makes data durable
replica() {
    local method=$1 size=$2 lanes=$3 target=$RPMEM_TEST_TARGET dir words='' options=''
    case $method in
    msync) ;;
    pmem) words=PMEM_IS_PMEM_FORCE=1 ;;
    appliance) words=PMEM_IS_PMEM_FORCE=1 options=--persist-apm ;;
    *) echo "there is no method $method" && return 1 ;;
    esac
    dir=$RPMEM_TEST_DIR/replica-$method-$size-$lanes
    rm -rf "$dir"
    mkdir -p "$dir" && truncate -s "${size}M" "$dir/image" || return 1
    on_target "mkdir -p $dir/sets && printf 'PMEMPOOLSET\n${size}M $dir/part0\n' >$dir/sets/pool.set" &&
        RPMEM_CMD="$words $RPMEM_TEST_DAEMON --poolset-dir $dir/sets --log-file $dir/log $options" \
            "$RPMEM_REPLICA" "$target" "$dir/image" "$lanes" &&
        on_target "tail -c +4097 $dir/part0" | cmp - <(tail -c +4097 "$dir/image")
    local status=$?
    [ "$status" -eq 0 ] || on_target "tail -n 20 $dir/log"
    on_target "rm -rf $dir"
    rm -rf "$dir"
    return "$status"
}
