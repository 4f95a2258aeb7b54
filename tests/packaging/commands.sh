#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# commands.sh SOURCES BUILD TEXT LEAST
#
# Tests the commands in TEXT, which is Markdown or a manual page: it runs each block of commands in
# one shell, in order, below own_machine.sh and with-sshd. It fails if a command fails, if a command
# after `!` succeeds, or if there are fewer than LEAST commands.
set -eu

sources=$1
build=$2
text=$3
least=$4
work=$RPMEM_TEST_DIR

# shellcheck source=tests/clients/remote_replicas.sh
. "$sources/tests/clients/remote_replicas.sh"
if [[ $text == */rpmem-libpmemobj.7 || $text == */upgrade.md ]] && reason=$(remote_replicas_refused); then
    printf 'skipped: %s\n' "$reason"
    exit 77
fi

# Prints a table of commands that cannot run here: the text, the beginning of the line, and the
# reason. Each row must match a line.
skipped() {
    cat <<'END'
operations.md	./tools/quickstart	installs packages and builds; scripts.sh tests it
operations.md	cmake --preset release	what is tested is built already
operations.md	sudo mkfs.ext4 -q /dev/pmem0	there is no persistent memory
operations.md	sudo nft add rule	nftables need not be installed, and has no such table
operations.md	sudo systemctl	systemd need not run
operations.md	journalctl	systemd need not run
operations.md	sudo bpftrace	runs until it is ended, and the kernel need not allow it; probes.sh tests it
END
}

fault() {
    printf '%s\n' "$*" >&2
    exit 1
}

# blocks: prints the lines of commands in the text, each after its number and a colon.
blocks() {
    case $text in
    *.md)
        awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside { print NR ":" $0 }' "$text"
        ;;
    *)
        awk '/^\.EX$/ { inside = 1; next } /^\.EE$/ { inside = 0 } inside { print NR ":" $0 }' "$text" |
            sed -E 's/^([0-9]+:)\\&/\1/; s/\\-/-/g; s/\\\(ti/~/g; s/\\\(ha/^/g; s/\\e/\\/g'
        ;;
    esac
}

# Expects no other fences and no indented blocks, because they would hide commands from this test.
check_blocks() {
    [[ $text == *.md ]] || return 0
    awk '
        /^ *(```|~~~)/ {
            if (!inside && $0 != "```sh" || inside && $0 != "```")
                print NR ": " $0
            inside = !inside
        }
        !inside && /^(    |\t)/ && blank { print NR ": " $0 }
        { blank = /^$/ }' "$text" >"$work/hidden"
    [ ! -s "$work/hidden" ] || fault "$text: these blocks are not run: $(cat "$work/hidden")"
}

# script: prints the script for bash. A line of a here-document, or after a backslash or a pipe,
# belongs to the command before it.
script() {
    local number line ends='' goes_on=no leaves=no
    while IFS=: read -r number line; do
        if [ -n "$ends" ] || [ "$goes_on" = yes ]; then
            [ "$leaves" = yes ] || printf '%s\n' "$line"
            [ "$line" != "$ends" ] || ends=
        else
            leaves=no
            if must_skip "$line"; then
                leaves=yes
            else
                printf 'place=%s\n' "$number"
                case $line in
                '! '*) printf 'refused %s\n' "${line#! }" ;;
                *) printf '%s\n' "$line" ;;
                esac
            fi
            case $line in
            *'<<END'*) ends=END ;;
            esac
        fi
        case $line in *\\ | *"|" | *"&&") goes_on=yes ;; *) goes_on=no ;; esac
    done < <(blocks)
}

# must_skip LINE: returns whether the line must be skipped, and records the row.
must_skip() {
    local name start why
    while IFS=$'\t' read -r name start why; do
        [ "$name" = "${text##*/}" ] && [[ $1 == "$start"* ]] || continue
        printf '%s\n' "$start" >>"$work/used"
        printf 'not run: %s: %s\n' "$1" "$why" >&2
        return 0
    done < <(skipped)
    return 1
}

# The first login of ssh-copy-id(1) would ask for a password, so an agent has another key here.
# ~/.ssh has only the port and the host key of sshd.
prepare_login() {
    mkdir -m 0700 "$HOME/.ssh"
    cp "$RPMEM_TEST_SSHD_DIR/authorized_keys" "$HOME/.ssh/authorized_keys"
    ln -sf "$HOME/.ssh/authorized_keys" "$RPMEM_TEST_SSHD_DIR/authorized_keys"
    printf 'Host *\n    Port %s\n' "$RPMEM_TEST_SSH_PORT" >"$HOME/.ssh/config"
    printf '[target]:%s %s\n' "$RPMEM_TEST_SSH_PORT" "$(cut -d' ' -f1,2 "$RPMEM_TEST_SSHD_DIR/host_key.pub")" \
        >"$HOME/.ssh/known_hosts"
    mkdir "$work/bin"
    printf '#!/bin/sh\nexec ssh-agent sh -c "ssh-add -q %s && exec /usr/bin/ssh-copy-id \\"\\$@\\"" sh "$@"\n' \
        "$RPMEM_TEST_SSHD_DIR/user_key" >"$work/bin/ssh-copy-id"
    printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
    chmod 755 "$work"/bin/*
    unset RPMEM_SSH SSH_AUTH_SOCK
}

# Makes a clone like one after the build. For a manual page, it also installs the build.
prepare_clone() {
    mkdir -p "$HOME/clone/build"
    ln -s "$sources"/* "$HOME/clone/" 2>/dev/null || true
    ln -sfn "$build" "$HOME/clone/build/release"
    case $text in
    *.md) ;;
    *) install_build ;;
    esac
    cd "$HOME/clone"
}

install_build() {
    cmake --install "$build" >"$work/install.log" || { cat "$work/install.log"; fault "cmake --install failed"; }
    ldconfig
}

# Makes a replica like one of rpmemd 1.12.1: the same bytes, parts of mode 0666, and no record of a
# writer. The record is an attribute of the first part, or a file of state-dir if the file system
# has no attributes.
prepare_old_replica() {
    install_build
    ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/id_ed25519"
    cat "$HOME/.ssh/id_ed25519.pub" >>"$HOME/.ssh/authorized_keys"
    mkdir -m 0700 "$HOME/pools" /mnt/pmem0/replicas
    printf 'poolset-dir = %s\n' "$HOME/pools" >"$HOME/.rpmemd.conf"
    printf 'PMEMPOOLSET\n16M /mnt/pmem0/replicas/part0\n18M /mnt/pmem0/replicas/part1\n' >"$HOME/pools/remote.set"
    printf 'PMEMPOOLSET\n32M /mnt/pmem0/local.part0\nREPLICA target remote.set\n' >local.set
    pmempool create obj --layout=any local.set
    has_record || fault "the pool has no record, which the test could look for"
    python3 -c 'import os; os.removexattr("/mnt/pmem0/replicas/part0", "user.rpmem.pool")' 2>/dev/null || true
    rm -rf "$HOME/.local/state/rpmemd"
    chmod 0666 /mnt/pmem0/replicas/part?
    ! has_record || fault "the pool has a record, unlike those of 1.12.1"
    ! pmempool info local.set >"$work/info" 2>&1 || fault "the replica of 1.12.1 is accepted as it is"
}

has_record() { rpmemctl check target remote.set | grep -q 'last written by'; }

# Expects that the commands have opened the pool and closed the parts to other writers.
check_upgrade() {
    has_record || fault "the pool was not opened"
    [ "$(stat -c %a /mnt/pmem0/replicas/part? | sort -u)" = 644 ] || fault "$(stat /mnt/pmem0/replicas/part?)"
    grep -q '^  remote.set .*faulty: ' checked || fault "not said: $(cat checked)"
}

check_blocks
prepare_login
prepare_clone
mkdir -p /mnt/pmem0
: >"$work/used"
export RPMEM_ENABLE_VERBS=0
export PATH=$work/bin:$PATH
[[ $text != */upgrade.md ]] || prepare_old_replica
{
    cat <<'END'
set -eu -o pipefail
refused() { ! "$@" || { echo "this should fail: $*"; exit 1; }; }
trap 'status=$?; [ $status -eq 0 ] || echo "FAILED in line $place"; exit $status' EXIT
END
    script
} >"$work/script"
run=$(grep -c '^place=' "$work/script")
[ "$run" -ge "$least" ] || fault "only $run commands found in $text"
while IFS=$'\t' read -r name start _; do
    [ "$name" != "${text##*/}" ] || grep -qxF -- "$start" "$work/used" ||
        fault "$text has no line that begins with: $start"
done < <(skipped)

timeout 150 bash "$work/script" >"$work/output" 2>&1 </dev/null || {
    sed -n "$(grep -oE 'FAILED in line [0-9]+' "$work/output" | tail -n 1 | grep -oE '[0-9]+')p" "$text"
    tail -n 40 "$work/output"
    fault "a command of $text failed"
}
[[ $text != */upgrade.md ]] || check_upgrade
# examples/counter.c must continue its count, whichever copy was lost.
diff <(grep -E '^run [0-9]+$' "$work/output") <(seq "$(grep -cE '^run [0-9]+$' "$work/output")" | sed 's/^/run /') ||
    fault "$text: the counter has lost its count"
[ -z "${RPMEM_TEST_SHOW:-}" ] || cat "$work/output"
echo "$run commands of $text ran"
