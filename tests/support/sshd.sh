# SPDX-License-Identifier: BSD-3-Clause
# A private sshd for tests with temporary keys and a free port, on loopback unless set otherwise.
# Sourced by with-sshd. All its files are below the directory of sshd_start, and no process is left.
# shellcheck shell=bash

# The maximum time of a login. An emulated processor on a busy machine needs more.
sshd_login_seconds=${RPMEM_TEST_LOGIN_SECONDS:-20}

sshd_say() {
    printf 'with-sshd: %s\n' "$*" >&2
}

# sshd_find: prints the absolute path of sshd, because it does not start without one.
sshd_find() {
    local found
    found=$(PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin" command -v sshd) || {
        sshd_say "sshd is missing; it is needed for logins on loopback: apt-get install openssh-server"
        return 1
    }
    printf '%s\n' "$found"
}

# sshd_address: prints the address to listen on, RPMEM_TEST_ADDRESS or loopback.
sshd_address() {
    printf '%s\n' "${RPMEM_TEST_ADDRESS:-127.0.0.1}"
}

# sshd_address6: prints RPMEM_TEST_ADDRESS6 or ::1, or nothing without IPv6.
sshd_address6() {
    if [ -n "${RPMEM_TEST_ADDRESS6:-}" ]; then
        printf '%s\n' "$RPMEM_TEST_ADDRESS6"
    elif grep -qs ' lo$' /proc/net/if_inet6; then
        echo ::1
    fi
}

# sshd_use_pam: a user whose password field starts with `!` can log in by key only with UsePAM.
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

# sshd_write_server_config DIR PORT MARK: sets MARK in the environment of every session, so that
# sshd_stop finds remaining processes. With SHLVL=1, bash does not read ~/.bashrc, which may be slow
# or print something.
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

# sshd_write_client DIR: writes ssh_config, and the script for RPMEM_SSH. With
# RPMEM_TEST_CONTROL_PATH, a ControlPath of ssh_config(5), all sessions share the login of the first
# call of ssh, for machines on which a login takes long. The default key exchange would cost 0.1 s
# of processor time per login.
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
    # A preloaded sanitizer must not get into ssh or the shell. With ThreadSanitizer they crash.
    cat >"$dir/ssh" <<EOF
#!/usr/bin/env -S -u LD_PRELOAD sh
exec ssh -F "$dir/ssh_config" "\$@"
EOF
    chmod +x "$dir/ssh"
}

# sshd_listens DIR: waits up to 60 s until sshd listens on every address. Returns 1 if it does not.
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

# sshd_start DIR: starts sshd, and sets SSHD_PID, SSHD_PORT and SSHD_MARK.
sshd_start() {
    local dir=$1 program attempt elsewhere=()
    program=$(sshd_find) || return 1
    [ -z "${RPMEM_TEST_SSHD_NETWORK:-}" ] || elsewhere=(nsenter --net="$RPMEM_TEST_SSHD_NETWORK")
    SSHD_MARK="$$-$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')"
    # sshd needs this directory if root runs it, and does not create it.
    [ "$(id -u)" -ne 0 ] || install -d -m 0755 /run/sshd || return 1
    sshd_write_keys "$dir" || return 1
    for ((attempt = 0; attempt < 20; attempt++)); do
        # Use a port below the range of the kernel for outgoing connections.
        SSHD_PORT=$((10000 + ($(od -An -N2 -tu2 /dev/urandom) % 20000)))
        sshd_write_server_config "$dir" "$SSHD_PORT" "$SSHD_MARK"
        : >"$dir/sshd.log"
        # sshd dies with its parent, even if that is killed and cannot clean up.
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

# sshd_start_again DIR: starts sshd with the keys, the port and the files of an earlier sshd_start.
sshd_start_again() {
    local dir=$1 program
    program=$(sshd_find) || return 1
    [ "$(id -u)" -ne 0 ] || install -d -m 0755 /run/sshd || return 1
    : >"$dir/sshd.log"
    setpriv --pdeathsig TERM "$program" -D -e -f "$dir/sshd_config" >>"$dir/sshd.log" 2>&1 </dev/null &
    SSHD_PID=$!
    sshd_listens "$dir"
}

# sshd_try DIR TARGET_USER ADDRESS: logs in once, so that a broken environment is not taken for a
# failed test.
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

# sshd_sessions: prints the running processes of sessions of this sshd.
sshd_sessions() {
    local file pid
    while read -r file; do
        pid=${file#/proc/}
        printf '%s\n' "${pid%/environ}"
    done < <(grep -lsz "^RPMEM_TEST_SESSION=$SSHD_MARK\$" /proc/[0-9]*/environ 2>/dev/null)
}

# sshd_sessions_end SECONDS: waits for the end of all sessions. Returns 1 if some are left.
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

# sshd_stop SECONDS: ends sshd. Sessions have SECONDS to end by themselves. Shows and kills the
# others, and returns 1 if there are any.
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
