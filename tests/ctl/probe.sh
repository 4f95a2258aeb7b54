#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# probe.sh RPMEMCTL RPMEMD JSON_HAS
#
# Tests the output and the exit status of rpmemctl probe, with a real login below with-sshd: this
# node, both nodes, and each way in which a login, a daemon or a provider can be missing. It fails
# if probe promises a pool that cannot be created or the reverse, does not name the cause, or prints
# control characters from the target. Some parts test rpmemctl settings and a log file of rpmemd
# that cannot be opened.
set -u

ctl=$1 daemon=$2 json_has=$3
dir=$RPMEM_TEST_DIR
failed=0
export RPMEM_ENABLE_VERBS=0 RPMEM_CONNECT_TIMEOUT=30000
unset RPMEM_DEVICE

# probe STATUS ARGUMENT...: runs rpmemctl probe, keeps its output, and expects this status.
probe() {
    local wanted=$1 status=0
    shift
    "$ctl" probe "$@" >"$dir/output" 2>"$dir/errors" </dev/null || status=$?
    [ "$status" = "$wanted" ] && return
    printf 'probe %s: status %s, not %s\n' "$*" "$status" "$wanted"
    cat "$dir/output" "$dir/errors"
    failed=$((failed + 1))
}

# says TEXT...: expects each text in the last output.
says() {
    local text
    for text; do
        grep -qF -- "$text" "$dir/output" "$dir/errors" && continue
        printf 'not said: %s\n' "$text"
        cat "$dir/output" "$dir/errors"
        failed=$((failed + 1))
    done
}

has() {
    "$json_has" "$dir/output" "$@" || failed=$((failed + 1))
}

daemon() {
    export RPMEM_CMD="$daemon --poolset-dir $dir $*"
}

this_node() {
    probe 0
    says 'This node: ' 'switched off (RPMEM_ENABLE_VERBS=0)' 'open files: ' 'Pools can use tcp.'
    probe 0 --json
    has /format=1 /verdict/possible=true '/verdict/provider="tcp"' '/node/providers/0/name="verbs"' \
        /node/providers/0/usable=false /node/providers/1/usable=true '/node/program~rpmemctl '
    RPMEM_ENABLE_VERBS=1 probe 0
    # The line for verbs must exist, with or without an RDMA device.
    says '    verbs      '
}

both_nodes() {
    daemon --persist-apm
    probe 0 "$RPMEM_TEST_TARGET"
    says "Target $RPMEM_TEST_TARGET: " "pool sets in $dir" 'appliance method on' \
        "A pool on $RPMEM_TEST_TARGET would use tcp." 'not over verbs: switched off'
    probe 0 "$RPMEM_TEST_TARGET" --json
    has /verdict/possible=true '/verdict/provider="tcp"' "/target/name=\"$RPMEM_TEST_TARGET\"" \
        '/target/report/program~rpmemd ' "/target/report/daemon/poolset_dir=\"$dir\"" \
        '/target/report/daemon/address="127.0.0.1"' /target/report/daemon/persist_apm=true \
        /target/report/providers/1/offered=true /target/report/format=1
    [ -z "$(find "$dir" -name '*part*')" ] || { echo "something was made" && failed=$((failed + 1)); }
}

secured() {
    daemon --tls=on
    RPMEM_TLS=on probe 0 "$RPMEM_TEST_TARGET"
    says "A pool on $RPMEM_TEST_TARGET would use tcp with TLS."
    RPMEM_TLS=on probe 0 "$RPMEM_TEST_TARGET" --json
    has /verdict/tls=true '/node/tls="on"' '/target/report/daemon/tls="on"'
    probe 0 "$RPMEM_TEST_TARGET"
    says "A pool on $RPMEM_TEST_TARGET would use tcp."
    daemon
    RPMEM_TLS=require probe 1 "$RPMEM_TEST_TARGET"
    says 'RPMEM_TLS=require, and the target has no TLS'
    daemon --tls=require
    probe 1 "$RPMEM_TEST_TARGET"
    says 'set RPMEM_TLS=on'
}

an_alias() {
    local config=$RPMEM_TEST_SSHD_DIR/ssh_config
    cp "$config" "$dir/ssh_config"
    printf 'Host alias.invalid\n HostName 127.0.0.1\n Port %s\n' "$RPMEM_TEST_SSH_PORT" |
        cat - "$dir/ssh_config" >"$config"
    daemon
    probe 0 alias.invalid
    says 'A pool on alias.invalid would use tcp.'
    cp "$dir/ssh_config" "$config"
}

no_provider() {
    daemon
    RPMEM_ENABLE_TCP=0 probe 1 "$RPMEM_TEST_TARGET"
    says 'could not be created' 'no provider is common' 'not over tcp: switched off' \
        'not over sockets: not switched on'
    RPMEM_ENABLE_TCP=0 probe 1
    says 'no provider can be used'
    RPMEM_ENABLE_TCP=0 probe 1 "$RPMEM_TEST_TARGET" --json
    has /verdict/possible=false '/verdict/provider=""' '/verdict/problems/0~no provider is common'
    RPMEM_ENABLE_VERBS=1 RPMEM_DEVICE=nodevice0 RPMEM_ENABLE_TCP=0 probe 1 "$RPMEM_TEST_TARGET"
    says 'not over verbs: '
}

login_fails() {
    daemon
    RPMEM_SSH=$dir/missing/ssh probe 1 "$RPMEM_TEST_TARGET"
    says 'could not be created' "cannot start '$dir/missing/ssh'" 'RPMEM_SSH' 'PATH='
    RPMEM_SSH=/bin/false probe 1 "$RPMEM_TEST_TARGET"
    says "RPMEM_SSH names '/bin/false'" "$daemon"
    probe 1 "$(id -un)@127.0.0.1:1" # nothing listens there
    says 'status 255' 'does sshd run on the target'
    probe 1 "nobody-of-that-name@${RPMEM_TEST_TARGET#*@}"
    says 'status 255' 'try the same login by hand'
    probe 1 "$(id -un)@127.0.0.1:1" --json
    has /verdict/possible=false /target/report=null '/target/problem~status 255'
    : >"$dir/nobody"
    RPMEM_SSH_TRANSPORT=libssh2 RPMEM_SSH_KNOWN_HOSTS=$dir/nobody probe 1 "$RPMEM_TEST_TARGET"
    says 'host key'
}

login_by_libssh2() {
    daemon
    echo "[127.0.0.1]:$RPMEM_TEST_SSH_PORT $(cut -d' ' -f1,2 "$RPMEM_TEST_SSHD_DIR/host_key.pub")" \
        >"$dir/known_hosts"
    RPMEM_SSH=$dir/missing/ssh RPMEM_SSH_TRANSPORT=libssh2 \
        RPMEM_SSH_KEY=$RPMEM_TEST_SSHD_DIR/user_key RPMEM_SSH_KNOWN_HOSTS=$dir/known_hosts \
        probe 0 "$RPMEM_TEST_TARGET"
    says "pool sets in $dir" 'would use tcp'
}

daemon_fails() {
    RPMEM_CMD=$dir/missing/rpmemd probe 1 "$RPMEM_TEST_TARGET"
    says 'status 127' 'install rpmemd on the target'
    daemon --log-level loud
    probe 1 "$RPMEM_TEST_TARGET"
    says 'is not one of err, warn, notice, info, debug'
    RPMEM_CMD="$daemon --poolset-dir $dir/missing" probe 1 "$RPMEM_TEST_TARGET"
    says "the pool set directory $dir/missing" 'poolset-dir'
    RPMEM_CMD="$daemon --poolset-dir /etc/passwd" probe 1 "$RPMEM_TEST_TARGET"
    says '/etc/passwd is not a directory'
    RPMEM_CMD="env -u SSH_CONNECTION $daemon --poolset-dir $dir" probe 1 "$RPMEM_TEST_TARGET"
    says 'SSH_CONNECTION is not set'
    RPMEM_CMD="env -u SSH_CONNECTION $daemon --poolset-dir $dir --address 127.0.0.1" probe 0 "$RPMEM_TEST_TARGET"
    RPMEM_CMD='exec cat >/dev/null #' RPMEM_CONNECT_TIMEOUT=1000 probe 1 "$RPMEM_TEST_TARGET"
    says 'within 1000 ms (RPMEM_CONNECT_TIMEOUT)'
}

# rpmemctl must not trust the target: malformed output, other types, control characters, output
# without end.
target_lies() {
    RPMEM_CMD='echo nonsense; true' probe 1 "$RPMEM_TEST_TARGET"
    says 'could not be created' 'begins with "nonsense\n"' '~/.bashrc'
    RPMEM_CMD="printf 'Good \\033[1mday\\n'; $daemon" probe 1 "$RPMEM_TEST_TARGET"
    says 'begins with "Good \x1b[1mday\n"' ' true'"'"' must print nothing'
    RPMEM_CMD="echo '{\"providers\": 7, \"limits\": [], \"host\": {}}'; true" probe 1 "$RPMEM_TEST_TARGET"
    says 'no provider is common'
    cat >"$dir/lie" <<'END'
{"providers": [{"name": "tcp", "offered": true, "usable": true}, 1, null], "daemon": [],
 "host": "a\u001b[31m\nb", "devices": [[]], "limits": {"memlock": {"soft": -1, "hard": "x"}}}
END
    RPMEM_CMD="cat $dir/lie; true" \
        probe 0 "$RPMEM_TEST_TARGET"
    says 'a\x1b[31m\x0ab' 'would use tcp'
    RPMEM_CMD='yes; true' RPMEM_CONNECT_TIMEOUT=3000 probe 1 "$RPMEM_TEST_TARGET"
}

old_daemon() {
    cat >"$dir/old" <<'END'
#!/bin/sh
[ "$1" != --version ] || { echo "rpmemd version 1.12.1" && exit 0; }
echo "unrecognized option $1" >&2
exit 1
END
    chmod +x "$dir/old"
    RPMEM_CMD=$dir/old probe 3 "$RPMEM_TEST_TARGET"
    says 'is not known' 'rpmemd version 1.12.1 does not support --probe'
    RPMEM_CMD=$dir/old probe 3 "$RPMEM_TEST_TARGET" --json
    has /verdict/possible=null '/target/version="rpmemd version 1.12.1"'
    [ -z "${RPMEM_PEER_DIR:-}" ] || {
        RPMEM_CMD=$RPMEM_PEER_DIR/bin/rpmemd probe 3 "$RPMEM_TEST_TARGET"
        says 'does not support --probe' 1.12.1
    }
}

usage() {
    probe 2 user@
    says 'there is no host'
    probe 2 one two
    probe 2 --unknown
    [ "$("$ctl" --version)" = "$("$daemon" --version | sed 's/^rpmemd /rpmemctl /')" ] || failed=$((failed + 1))
    RPMEM_WORK_QUEUE_SIZE=many "$ctl" settings >"$dir/output" && failed=$((failed + 1))
    says RPMEM_WORK_QUEUE_SIZE=many RPMEM_DEVICE= '1 to 65536 operations' \
        'WRONG: not a number of operations from 1 to 65536; 50 is used'
    RPMEM_WORK_QUEUE_SIZE= "$ctl" settings >"$dir/output"
    says 'RPMEM_WORK_QUEUE_SIZE=50   (default)'
    ! grep WRONG "$dir/output" || failed=$((failed + 1))
}

# A log that cannot be opened must not appear in the error text for the client.
log_that_cannot_be_opened() {
    "$daemon" --poolset-dir "$dir" --log-file "$dir/missing/log" --remove no.set 2>"$dir/output"
    [ "$(wc -l <"$dir/output")" = 1 ] || failed=$((failed + 1))
    says 'no.set'
    [ ! -e "$dir/missing" ] || failed=$((failed + 1))
}

for part in this_node both_nodes secured an_alias no_provider login_fails login_by_libssh2 \
    daemon_fails target_lies old_daemon usage log_that_cannot_be_opened; do
    before=$failed
    $part
    [ "$failed" = "$before" ] && echo "ok: $part" || echo "FAILED: $part"
done
exit $((failed > 0))
