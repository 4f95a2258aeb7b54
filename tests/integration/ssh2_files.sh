# SPDX-License-Identifier: BSD-3-Clause
# Makes the keys and known hosts for tests of libssh2. run_tests.sh sources it. The library reads
# its settings once in a process, so tests that need other keys replace the content of these files.
# shellcheck shell=bash

# With libssh2 the library must not start ssh.
export RPMEM_SSH=/nonexistent/ssh
ssh2_keys=$RPMEM_TEST_DIR/keys
mkdir "$ssh2_keys"
for ssh2_kind in ed25519 ecdsa rsa; do
    ssh-keygen -q -t $ssh2_kind -N '' -C "$ssh2_kind of the tests" -f "$ssh2_keys/$ssh2_kind"
    cat "$ssh2_keys/$ssh2_kind.pub" >>"$RPMEM_TEST_SSHD_DIR/authorized_keys"
done
ssh-keygen -q -t ed25519 -N '' -f "$ssh2_keys/stranger"
ssh-keygen -q -t ed25519 -N secret -f "$ssh2_keys/locked"
cp "$ssh2_keys/ed25519" "$RPMEM_TEST_DIR/key"
for ssh2_address in 127.0.0.1 ::1; do
    echo "[$ssh2_address]:$RPMEM_TEST_SSH_PORT $(cut -d' ' -f1,2 "$RPMEM_TEST_SSHD_DIR/host_key.pub")"
done >"$RPMEM_TEST_DIR/known_hosts"
export RPMEM_SSH_KNOWN_HOSTS=$RPMEM_TEST_DIR/known_hosts
unset SSH_AUTH_SOCK
[ "${RPMEM_TEST_USE_AGENT:-}" = 1 ] || export RPMEM_SSH_KEY=$RPMEM_TEST_DIR/key
