#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run_tests.sh TESTS DAEMON [ARGUMENT...]
#
# Runs the integration tests TESTS against DAEMON, through a private sshd. ARGUMENTs are options of
# googletest. RPMEM_* variables of the caller stay in effect, so it can choose providers. It fails
# if a test fails, if no test has the name, or if a session is left (see with-sshd).
set -eu
here=$(dirname "$(readlink -f "$0")")
tests=$1
export RPMEM_TEST_DAEMON=$2
shift 2
if [ -z "${RPMEM_TEST_TARGET:-}" ]; then
    exec "$here/../support/with-sshd" "$0" "$tests" "$RPMEM_TEST_DAEMON" "$@"
fi
# googletest succeeds if its filter matches no test.
if ! "$tests" --gtest_list_tests "$@" | grep -q '^  '; then
    echo "no test of this name: $*" >&2
    exit 1
fi
# The library reads RPMEM_CMD when it is loaded. So it names a file that each test can rewrite. A
# daemon behind a forced command checks only the name of this file.
export RPMEM_TEST_COMMAND_FILE=$RPMEM_TEST_DIR/rpmemd
RPMEM_CMD=$RPMEM_TEST_COMMAND_FILE
if [ -n "${RPMEM_TEST_COMMAND_ARGUMENTS:-}" ]; then # a|b becomes COMMAND a|COMMAND b
    RPMEM_CMD="$RPMEM_CMD ${RPMEM_TEST_COMMAND_ARGUMENTS//|/|$RPMEM_CMD }"
fi
export RPMEM_CMD
# Most tests expect a call to fail at once when its session is lost.
export RPMEM_RECONNECT_TIMEOUT=${RPMEM_RECONNECT_TIMEOUT:-0}
export RPMEM_LOG_FILE=$RPMEM_TEST_DIR/library-
# This script runs between the library and ssh, so it can list the descriptors that ssh inherits.
cat >"$RPMEM_TEST_DIR/ssh" <<EOF
#!/bin/bash
[ -z "\${RPMEM_TEST_LIST_DESCRIPTORS:-}" ] || {
    # Bash has this script as 255, and its own look at the directory is gone by the time of [ -e ].
    list=
    for fd in /proc/\$\$/fd/*; do
        [ "\${fd##*/}" = 255 ] || [ ! -e "\$fd" ] || list="\$list \${fd##*/}"
    done
    echo "\$list" >"\$RPMEM_TEST_LIST_DESCRIPTORS"
}
exec "$RPMEM_SSH" "\$@"
EOF
chmod 755 "$RPMEM_TEST_DIR/ssh"
export RPMEM_SSH=${RPMEM_TEST_SSH:-$RPMEM_TEST_DIR/ssh}
if [ "${RPMEM_SSH_TRANSPORT:-}" = libssh2 ]; then
    # shellcheck source=tests/integration/ssh2_files.sh
    . "$here/ssh2_files.sh"
fi
if [ "${RPMEM_TEST_USE_AGENT:-}" = 1 ]; then
    # ssh-agent sets SSH_AUTH_SOCK, and ends when the tests have ended.
    exec ssh-agent -a "$RPMEM_TEST_DIR/agent" "$tests" "$@"
fi
exec "$tests" "$@"
