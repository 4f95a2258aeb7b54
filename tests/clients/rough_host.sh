#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests a program with unusual conditions for the library: a file size limit that the log has
# reached, threads with small stacks, cancelled threads, SIGCHLD ignored, and fork(2) while another
# thread reconnects. The program uses a stock libpmemobj and a real target. It fails if the program
# ends early, or if the pool stays in use after the program has died. Most of this once happened.
# shellcheck disable=SC2046,SC2086 # paths of test files hold no blanks
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"

here=$RPMEM_TEST_DIR/rough
mkdir "$here"
mkfifo "$here/reached" "$here/gate"
cat >"$here/rpmemd" <<EOF
#!/bin/sh
[ ! -e $here/gated ] || { echo >$here/reached; read -r gate <$here/gate; }
case " \$* " in *" --remove "*) ;; *) echo \$\$ >$here/daemon ;; esac
exec env $(target_make 1) "\$@"
EOF
chmod +x "$here/rpmemd"
export RPMEM_CMD="$here/rpmemd"
write_pool single
add_remote "$LOCAL/alone.set" "$LOCAL/pool.set"
target=$(target_set 1) pool=$LOCAL/pool.set
part=$(parts_of "$target")
must client pmempool create obj --layout=rpmem_workload "$pool"

step "signals, small stacks, cancellation, fork while reconnecting"
log=$here/library
truncate -s 65536 "$log"
status=0
RPMEM_CLIENT_ENV="RPMEM_LOG_FILE=$log RPMEM_LOG_LEVEL=5 RPMEM_RECONNECT_TIMEOUT=30000" \
    client "$RPMEM_ROUGH_HOST" "$pool" "$here" || status=$?
[ "$status" -eq 137 ] || fail "status $status, expected the program to end by SIGKILL"
[ "$(stat -c %s "$log")" -eq 65536 ] || fail "the log was written beyond its limit"

# The child must not keep the session of the dead program open. Otherwise the target would wait for
# its peer timeout of 30 s.
step "the target lets go of the pool while a child of the program lives"
for ((attempt = 0; attempt < 100; attempt++)); do
    flock --nonblock "$part" true && break
    sleep 0.1
done
must kill -0 "$(cat "$here/child")"
must flock --nonblock "$part" true
kill -KILL "$(cat "$here/child")"

step "a removal by a program that ignores SIGCHLD"
must client env --ignore-signal=CHLD pmempool rm "$pool"
[ ! -e "$part" ] || fail "$part is still there"
