#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the requirements of RDMA for memory in one virtual machine with an NVDIMM: the limit of
# locked memory at either end, also without privileges; ibv_fork_init with huge pages and Device
# DAX; and on-demand paging, which rxe does not support here. It fails if an error does not name the
# limit and the remedy, if a limit that can be raised is not raised, or if bytes are wrong.
#   RPMEM_REPLICA, RPMEM_VISIT, RPMEM_TEST_DAEMON  the built programs
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/media.sh"
here=$(dirname "$(readlink -f "$0")")
export RPMEM_TEST_ADDRESS=10.7.7.1
if [ -z "${RPMEM_TEST_TARGET:-}" ]; then
    namespace 0 devdax || exit 1
    exec "$here/../support/with-sshd" "$0" "$@"
fi
dir=$RPMEM_TEST_DIR
chmod 666 /dev/infiniband/* # like udev
chmod 755 "$dir/.." "$dir" "$RPMEM_TEST_SSHD_DIR"
# The daemon accepts only pools of root and of its own user. It runs as both in these steps.
mkdir -m 755 "$dir"/{pools,theirs}
for pools in pools theirs; do
    printf 'PMEMPOOLSET\n8M %s\n' "$dir/$pools/part0" >"$dir/$pools/pool.set"
done
chown -R 65534 "$dir/theirs"
mkdir -m 1777 "$dir/logs"
# The user without privileges needs its own login, because root shares a connection.
install -m 600 -o 65534 "$RPMEM_TEST_SSHD_DIR/user_key" "$dir/key"
cat >"$dir/ssh" <<END
#!/bin/sh
sed 's|"[^"]*user_key"|"$dir/key"|; /^ *Control/d' "$RPMEM_TEST_SSHD_DIR/ssh_config" >/tmp/ssh_config
exec ssh -F /tmp/ssh_config "\$@"
END
chmod 755 "$dir/ssh"
chmod 644 "$RPMEM_TEST_SSHD_DIR"/{ssh_config,known_hosts}
export RPMEM_LOG_LEVEL=3 RPMEM_LOG_FILE=$dir/logs/library
serve="$RPMEM_TEST_DAEMON --log-file $dir/logs/log --log-level notice --poolset-dir $dir/pools"
plain="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/"

# visit [WORD...]: creates a pool, with WORDs before the command.
visit() {
    rm -f "$dir"/{pools,theirs}/part0 "$dir"/logs/*
    "$@" "$RPMEM_VISIT" create "$RPMEM_TEST_TARGET" 0 0 >"$dir/logs/error" 2>&1
}

# refused TEXT...: expects these texts in the error, and no part files.
refused() {
    local text
    cat "$dir/logs/error"
    for text; do
        expect "$text" "$dir/logs/error" || return 1
    done
    [ ! -e "$dir/pools/part0" ] && [ ! -e "$dir/theirs/part0" ]
}

# Limits in bytes. The pools have 4 MiB at the client and 8 MiB at the target.
little=2097152 enough=268435456

client_with_little() {
    export RPMEM_CMD=$serve
    visit $plain "RPMEM_SSH=$dir/ssh" prlimit --memlock=$little:$little && return 1
    refused "RDMA needs 4" "is $little bytes (soft) and $little bytes (hard)" \
        "'nobody - memlock" "/etc/security/limits.conf"
}

client_that_may_raise_it() {
    export RPMEM_CMD=$serve
    visit $plain "RPMEM_SSH=$dir/ssh" prlimit --memlock=$little:$enough || { cat "$dir/logs/error"; return 1; }
}

client_with_the_capability() {
    export RPMEM_CMD=$serve
    visit prlimit --memlock=0:0 || { cat "$dir/logs/error"; return 1; }
}

target_with_little() {
    export RPMEM_CMD="$plain prlimit --memlock=$little:$little ${serve%pools}theirs"
    visit && return 1
    refused "refused to create the pool" "RDMA needs 8" "is $little bytes (soft) and $little bytes (hard)" \
        "'nobody - memlock" "sshd is one"
}

target_that_may_raise_it() {
    export RPMEM_CMD="$plain prlimit --memlock=$little:$enough ${serve%pools}theirs"
    visit || { cat "$dir/logs/error"; return 1; }
}

fork_safety() {
    export RPMEM_CMD=$serve
    visit || { cat "$dir/logs/error"; return 1; }
    expect "the kernel copies registered memory on fork" "$dir/logs/library"
}

# large_pages SIZE PART [VARIABLE]: replicates a local pool in huge pages to PART, with
# ibv_fork_init(3) active at both ends.
large_pages() {
    local size=$1 part=$2 words="RDMAV_FORK_SAFE=1 ${3:-}"
    printf 'PMEMPOOLSET\n%s\n' "$part" >"$dir/pools/pool.set"
    export RPMEM_CMD="$words $serve"
    mkdir -p /mnt/huge && { mountpoint -q /mnt/huge || mount -t hugetlbfs none /mnt/huge; } || return 1
    rm -f "$dir/pools/part0" /mnt/huge/image
    echo 24 >/proc/sys/vm/nr_hugepages
    # shellcheck disable=SC2086 # assignments
    truncate -s "$size" /mnt/huge/image &&
        env $words "$RPMEM_REPLICA" "$RPMEM_TEST_TARGET" /mnt/huge/image 2
}

huge_pages() {
    large_pages 8M "8M $dir/pools/part0" "$@" &&
        cmp -n $((8188 * 1024)) -i 4096 "$dir/pools/part0" /mnt/huge/image
}

device_dax() {
    local size
    size=$(cat /sys/bus/dax/devices/dax0.0/size)
    daxio -o /dev/dax0.0 -i /dev/zero -l 4096 >/dev/null 2>&1
    large_pages "$size" "AUTO /dev/dax0.0" "$@" &&
        daxio -i /dev/dax0.0 -o "$dir/device" >/dev/null 2>&1 &&
        cmp -n $((size - 4096)) -i 4096 "$dir/device" /mnt/huge/image
}

client_without_paging() {
    export RPMEM_CMD=$serve
    visit env RPMEM_ODP=on && return 1
    refused "RPMEM_ODP=on" "the RDMA device rxe0" "it has no on-demand paging" "RPMEM_ODP=auto"
}

target_without_paging() {
    export RPMEM_CMD="RPMEM_ODP=on $serve"
    visit && return 1
    refused "refused to create the pool" "the RDMA device rxe0" "it has no on-demand paging"
}

step "the client may lock too little" client_with_little
step "the client raises its soft limit" client_that_may_raise_it
step "the client has CAP_IPC_LOCK" client_with_the_capability
step "the target may lock too little" target_with_little
step "the target raises its soft limit" target_that_may_raise_it
step "fork safety is in the log" fork_safety
step "on-demand paging, which the client's device has not" client_without_paging
step "on-demand paging, which the target's device has not" target_without_paging
step "huge pages and Device DAX, ibv_fork_init" device_dax
step "the same with RDMAV_HUGEPAGES_SAFE" device_dax RDMAV_HUGEPAGES_SAFE=1
step "huge pages, ibv_fork_init" huge_pages
step "huge pages, ibv_fork_init, RDMAV_HUGEPAGES_SAFE" huge_pages RDMAV_HUGEPAGES_SAFE=1
finish
