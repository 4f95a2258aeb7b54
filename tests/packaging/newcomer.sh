#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# newcomer.sh SOURCES
#
# Tests README.md from top to bottom, by a user with sudo in a minimal Debian, see
# newcomer_session.sh. It fails if a block does not work as written, for example because it needs a
# package that the text does not install. RPMEM_NEWCOMER_ALL=1 also runs the last block completely,
# which takes hours. Without it, only a few tests run.
set -eu -o pipefail
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

sources=$1

# apt must not ask questions. Nothing else is prepared.
prepare_user() {
    apt_get install --yes --no-install-recommends sudo ca-certificates
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90nobody-answers"
    in_root useradd --create-home --shell /bin/bash --password '*' newcomer
    echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
    # This is not 127.0.0.1, where this machine may have an sshd.
    echo '127.0.0.9 target' >>"$root/etc/hosts"
}

# Makes the clone in which README.md begins: all files except builds and .git.
copy_clone() {
    local clone=$root/home/newcomer/librpmem
    mkdir "$clone"
    tar -C "$sources" -c --exclude='./build*' --exclude=./.cache --exclude=./.git . | tar -C "$clone" -x
    cp "${0%/*}/newcomer_session.sh" "$root/home/newcomer/session.sh"
    in_root chown -R newcomer: /home/newcomer
}

make_root
prepare_user
copy_clone
in_root su - newcomer -c "cd librpmem && RPMEM_JOBS=${RPMEM_JOBS:-} \
    RPMEM_NEWCOMER_ALL=${RPMEM_NEWCOMER_ALL:-} bash -eu -o pipefail ../session.sh" || fault "README.md does not lead a newcomer through"
echo "README.md was gone through in $SECONDS s"
