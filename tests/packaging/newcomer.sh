#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# newcomer.sh SOURCES: README.md from top to bottom, as written, by a user with sudo on a Debian with nothing
# else. See newcomer_session.sh. RPMEM_NEWCOMER_ALL=1 runs the last block, too, which takes hours: without, a
# few tests stand for it.
set -eu -o pipefail
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

sources=$1

# An apt that asks would find nobody; nothing else is set up.
prepare_user() {
    apt_get install --yes --no-install-recommends sudo ca-certificates
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90nobody-answers"
    in_root useradd --create-home --shell /bin/bash --password '*' newcomer
    echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
    # Not 127.0.0.1, where this machine may have an sshd.
    echo '127.0.0.9 target' >>"$root/etc/hosts"
}

# The clone that README.md begins in: what git would have, or where there is no git, all but builds.
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
