# SPDX-License-Identifier: BSD-3-Clause
# A private sshd for tests, on loopback unless told otherwise: throw-away keys, a free port, nothing left running.
# Sourced by with-sshd; needs bash. Everything lives below the directory given to sshd_start.
# shellcheck shell=bash

# What a login may take at most: where a processor is emulated on a busy machine, longer.
sshd_login_seconds=${RPMEM_TEST_LOGIN_SECONDS:-20}

sshd_say() {
    printf 'with-sshd: %s\n' "$*" >&2
}

# sshd_find: the program's absolute path, without which sshd refuses to start.
sshd_find() {
    local found
    found=$(PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin" command -v sshd) || {
        sshd_say "sshd is missing; it is needed for logins on loopback: apt-get install openssh-server"
        return 1
    }
    printf '%s\n' "$found"
}

# The addresses to listen on: RPMEM_TEST_ADDRESS and RPMEM_TEST_ADDRESS6, by default on loopback.
sshd_address() {
    printf '%s\n' "${RPMEM_TEST_ADDRESS:-127.0.0.1}"
}

# Empty without IPv6.
sshd_address6() {
    if [ -n "${RPMEM_TEST_ADDRESS6:-}" ]; then
        printf '%s\n' "$RPMEM_TEST_ADDRESS6"
    elif grep -qs ' lo$' /proc/net/if_inet6; then
        echo ::1
    fi
}

# A user whose password field starts with `!` may log in by key only if PAM is asked instead.
sshd_use_pam() {
    if [ "$(id -u)" -eq 0 ] && getent shadow "$(id -un)" | cut -d: -f2 | grep -q '^!'; then
        echo yes
    else
        echo no
    fi
}

sshd_write_keys() {
    local dir=$1 key
    for key in host_key user_key; do
        ssh-keygen -q -t ed25519 -N '' -C rpmem-test -f "$dir/$key" || {
            sshd_say "cannot make the key $dir/$key: apt-get install openssh-client"
            return 1
        }
    done
    cp "$dir/user_key.pub" "$dir/authorized_keys"
    echo "rpmem-test $(cut -d' ' -f1,2 "$dir/host_key.pub")" >"$dir/known_hosts"
}

# sshd_write_server_config DIR PORT MARK
# MARK goes into the environment of every session, by which sshd_stop finds what is left of them.
# With SHLVL bash takes itself for the child of a shell, and leaves out the user's ~/.bashrc, which
# may take long or print something.
sshd_write_server_config() {
    local dir=$1 port=$2 mark=$3 address6
    address6=$(sshd_address6)
    {
        echo "ListenAddress $(sshd_address):$port"
        if [ -n "$address6" ]; then echo "ListenAddress [$address6]:$port"; fi
        cat <<EOF
HostKey "$dir/host_key"
AuthorizedKeysFile "$dir/authorized_keys"
PidFile none
UsePAM $(sshd_use_pam)
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
X11Forwarding no
AllowTcpForwarding ${RPMEM_TEST_FORWARDING:-no}
PrintMotd no
UseDNS no
LoginGraceTime $sshd_login_seconds
MaxStartups 200
MaxSessions 200
LogLevel VERBOSE
SetEnv RPMEM_TEST_SESSION=$mark SHLVL=1
AcceptEnv ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS LLVM_PROFILE_FILE FI_*
EOF
    } >"$dir/sshd_config"
}

# sshd_write_client DIR: ssh_config, and the program that stands for ssh in RPMEM_SSH.
# RPMEM_TEST_CONTROL_PATH, a ControlPath of ssh_config(5), has all sessions share the login that the
# first call of ssh makes, where a login takes long. The key exchange is not the usual one, which takes
# a tenth of a second of the processors for each login.
sshd_write_client() {
    local dir=$1 control=no
    [ -z "${RPMEM_TEST_CONTROL_PATH:-}" ] || control=yes
    cat >"$dir/ssh_config" <<EOF
Host *
    IdentityFile "$dir/user_key"
    IdentitiesOnly yes
    IdentityAgent none
    PreferredAuthentications publickey
    UserKnownHostsFile "$dir/known_hosts"
    GlobalKnownHostsFile /dev/null
    HostKeyAlias rpmem-test
    StrictHostKeyChecking yes
    CheckHostIP no
    ControlMaster ${control/yes/auto}
    ControlPath ${RPMEM_TEST_CONTROL_PATH:-none}
    ControlPersist $control
    ConnectTimeout $sshd_login_seconds
    LogLevel ERROR
    KexAlgorithms curve25519-sha256
    SendEnv ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS LLVM_PROFILE_FILE FI_*
EOF
    # A sanitizer preloaded into the client has no business in ssh, nor in the shell: with that of
    # ThreadSanitizer in it, it crashes.
    cat >"$dir/ssh" <<EOF
#!/usr/bin/env -S -u LD_PRELOAD sh
exec ssh -F "$dir/ssh_config" "\$@"
EOF
    chmod +x "$dir/ssh"
}

# sshd_listens DIR: 0 when sshd listens on every address, 1 when it never will, after <= 60 s.
sshd_listens() {
    local dir=$1 wanted listening attempt
    wanted=$(grep -c '^ListenAddress' "$dir/sshd_config")
    for ((attempt = 0; attempt < 1200; attempt++)); do
        listening=$(grep -c '^Server listening on' "$dir/sshd.log" 2>/dev/null)
        [ "${listening:-0}" -eq "$wanted" ] && return 0
        kill -0 "$SSHD_PID" 2>/dev/null || return 1
        grep -qs '^Bind to port .* failed' "$dir/sshd.log" && return 1
        sleep 0.05
    done
    return 1
}

# sshd_start DIR: sets SSHD_PID, SSHD_PORT and SSHD_MARK.
sshd_start() {
    local dir=$1 program attempt elsewhere=()
    program=$(sshd_find) || return 1
    [ -z "${RPMEM_TEST_SSHD_NETWORK:-}" ] || elsewhere=(nsenter --net="$RPMEM_TEST_SSHD_NETWORK")
    SSHD_MARK="$$-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"
    # sshd run by root wants this directory of its own, and does not make it.
    [ "$(id -u)" -ne 0 ] || install -d -m 0755 /run/sshd || return 1
    sshd_write_keys "$dir" || return 1
    for ((attempt = 0; attempt < 20; attempt++)); do
        # Below the range that the kernel gives to outgoing connections.
        SSHD_PORT=$((10000 + ($(od -An -N2 -tu2 /dev/urandom) % 20000)))
        sshd_write_server_config "$dir" "$SSHD_PORT" "$SSHD_MARK"
        : >"$dir/sshd.log"
        # It dies with its parent, also when that is killed and cannot clean up.
        setpriv --pdeathsig TERM \
            "${elsewhere[@]}" "$program" -D -e -f "$dir/sshd_config" >>"$dir/sshd.log" 2>&1 </dev/null &
        SSHD_PID=$!
        if sshd_listens "$dir"; then
            sshd_write_client "$dir"
            return 0
        fi
        sshd_kill_now "$SSHD_PID"
        grep -qs '^Bind to port .* failed' "$dir/sshd.log" || break
    done
    sshd_say "sshd does not start; it said:"
    cat "$dir/sshd.log" >&2
    return 1
}

# sshd_start_again DIR: with the keys, the port and the files that sshd_start has made there.
sshd_start_again() {
    local dir=$1 program
    program=$(sshd_find) || return 1
    [ "$(id -u)" -ne 0 ] || install -d -m 0755 /run/sshd || return 1
    : >"$dir/sshd.log"
    setpriv --pdeathsig TERM "$program" -D -e -f "$dir/sshd_config" >>"$dir/sshd.log" 2>&1 </dev/null &
    SSHD_PID=$!
    sshd_listens "$dir"
}

# sshd_try DIR TARGET_USER ADDRESS: one login, so that a broken set-up is told apart from a broken
# test.
sshd_try() {
    local dir=$1 user=$2 address=$3
    if timeout $((3 * sshd_login_seconds)) "$dir/ssh" -p "$SSHD_PORT" -T -oBatchMode=yes "$user@$address" true \
        </dev/null >"$dir/try.log" 2>&1; then
        return 0
    fi
    sshd_say "user $user cannot log in to sshd on $address (is the login shell usable?)"
    cat "$dir/try.log" "$dir/sshd.log" >&2
    return 1
}

# sshd_sessions: ids of living processes that were started in a session of our sshd.
sshd_sessions() {
    local file pid
    while read -r file; do
        pid=${file#/proc/}
        printf '%s\n' "${pid%/environ}"
    done < <(grep -lsz "^RPMEM_TEST_SESSION=$SSHD_MARK\$" /proc/[0-9]*/environ 2>/dev/null)
}

# sshd_sessions_end SECONDS: waits for all sessions to end; 1 if some are left.
sshd_sessions_end() {
    local attempt
    for ((attempt = 0; attempt < $1 * 20; attempt++)); do
        [ -n "$(sshd_sessions)" ] || return 0
        sleep 0.05
    done
    [ -z "$(sshd_sessions)" ]
}

sshd_kill_now() {
    kill -TERM "$@" 2>/dev/null
    wait "$@" 2>/dev/null
}

# sshd_stop SECONDS: ends sshd; sessions get SECONDS to end by themselves. 1 if some did not: they
# are shown and killed.
sshd_stop() {
    local left status=0
    [ -n "${SSHD_PID:-}" ] || return 0
    if ! sshd_sessions_end "$1"; then
        status=1
        left=$(sshd_sessions)
        sshd_say "still running $1 s after the test:"
        # shellcheck disable=SC2086 # a list of process ids
        ps -o pid,ppid,etime,args -p $left >&2
    fi
    sshd_kill_now "$SSHD_PID"
    SSHD_PID=
    for left in $(sshd_sessions); do
        kill -KILL "$left" 2>/dev/null
    done
    return $status
}
