#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# debian_install.sh PACKAGES WORKLOAD SOURCES
#
# Tests the Debian packages in PACKAGES in a minimal Debian. Stock PMDK programs replicate to
# localhost through sshd without any variable, a program that is compiled against the packages runs
# with both builds of the library, and a purge must remove all files. The PMDK of Debian 13 refuses
# remote replicas, so 1.12.1 is installed there as docs/installation.md says. It fails if a package
# cannot be installed, lacks a file or a dependency, or leaves a file. WORKLOAD is that of
# tests/clients. Run it as root. debootstrap uses the mirror of apt.
set -eu -o pipefail
# shellcheck source=tests/packaging/bare_debian.sh
. "${0%/*}/bare_debian.sh"

packages=$1 workload=$2 sources=$3
names="librpmem1 librpmem-dev librpmem1-debug rpmemd rpmem-tools"
stock="openssh-server openssh-client pmdk-tools libpmemobj1"

compgen -G "$packages/*.deb" >/dev/null || skip "there are no packages in $packages"

# Prints all files except those of users, and records of apt and dpkg.
list_files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./home -o -path ./tmp -o -path ./run \
        -o -path ./root -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/log/apt \) -prune \
        -o -not -path './var/lib/dpkg/*-old' -print) | sort
}

install_ours() {
    mkdir -p "$root/root/packages"
    cp "$packages"/*.deb "$root/root/packages"
    rm -f "$root"/root/packages/*-dbgsym_*
    [ "$(find "$root/root/packages" -name '*.deb' | wc -l)" -eq "$(wc -w <<<"$names")" ] ||
        fault "not these packages: $names, but: $(ls "$root/root/packages")"
    in_root bash -c 'apt-get -qq install --yes --no-install-recommends /root/packages/*.deb' \
        >"$work/log" 2>&1 || { cat "$work/log" >&2; fault "the packages cannot be installed"; }
    ! in_root dpkg -l libfabric1 libibverbs1 2>/dev/null | grep '^ii' ||
        fault "something depends on what is loaded only where it is used"
}

# Libraries that are loaded on first use must not be in the dynamic section of a file.
check_files() {
    local file library name version
    library=$(find "$root/usr/lib" -path '*/pmdk_dbg/*' -prune -o -name librpmem.so.1 -print)
    [ "$(readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')" = librpmem.so.1 ] || fault "another soname"
    for file in "$library" "${library%/*}/pmdk_dbg/librpmem.so.1" "$root"/usr/bin/{rpmemd,rpmemctl,rpmem-bench}; do
        ! readelf -d "$file" | grep -E 'NEEDED.*(fabric|ibverbs|rdmacm)|R(UN)?PATH' ||
            fault "$file names a library that is loaded only when it is used, or a place of its own"
    done
    for name in librpmem.7 rpmem_create.3 rpmem-protocol.7 rpmemd.1 rpmemd.conf.5 rpmemctl.1 rpmem-bench.1; do
        [ -e "$root/usr/share/man/man${name##*.}/$name.gz" ] || fault "there is no page $name"
    done
    for name in bash-completion/completions/rpmem{d,ctl} zsh/vendor-completions/_rpmem{d,ctl}; do
        [ -e "$root/usr/share/$name" ] || fault "there is no completion $name"
    done
    ! zcat "$root/usr/share/man/man1/rpmemd.1.gz" | grep -q 'PMDK Programmer' || fault "rpmemd.1 is not ours"
    # The pmdk-tools of Debian 13 have no such page.
    ! grep -q '/man1/rpmemd\.1\.gz$' "$work/before" || [ -e "$root/usr/share/man/man1/rpmemd.pmdk.1.gz" ] ||
        fault "rpmemd.1 of pmdk-tools is not kept"
    in_root dpkg-query -W -f '${Conffiles}' rpmemd | grep -q '^ /etc/rpmemd/rpmemd.conf ' ||
        fault "/etc/rpmemd/rpmemd.conf is no conffile"
    version=$(in_root dpkg-query -W -f '${Version}' librpmem1)
    dpkg --compare-versions "$version" gt 1.12.1-2 || fault "$version does not replace 1.12.1"
}

# Prepares a user who may log in to localhost, with programs that were built elsewhere.
prepare_user() {
    local home=$root/home/user
    in_root su user -c 'cd && mkdir -m 700 .ssh && ssh-keygen -q -t ed25519 -N "" -f .ssh/id_ed25519 &&
        cp .ssh/id_ed25519.pub .ssh/authorized_keys'
    sed 's/^/localhost /' "$root"/etc/ssh/ssh_host_*_key.pub >"$home/.ssh/known_hosts"
    cp "$workload" "$home/workload"
    build_example "$home/replicate"
    printf 'PMEMPOOLSET\n32M /home/user/local.part\nREPLICA localhost remote.set\n' >"$home/local.set"
    printf 'PMEMPOOLSET\n32M /home/user/remote.part\n' >"$home/remote.set"
    printf 'PMEMPOOLSET\n32M /home/user/example.part\n' >"$home/example.set"
    cp "${0%/*}/debian_session.sh" "$home/session.sh"
    cp "$sources/tests/clients/remote_replicas.sh" "$home"
    in_root chown -R user: /home/user
}

# Builds the example with the files of librpmem-dev for CMake and pkg-config, not with those of this
# machine.
build_example() {
    local pc
    cmake -S "$sources/examples" -B "$work/example" -DCMAKE_PREFIX_PATH="$root/usr" >"$work/log" 2>&1 &&
        cmake --build "$work/example" >>"$work/log" 2>&1 || { cat "$work/log" >&2; fault "the example does not build"; }
    grep -qF "librpmem_DIR:PATH=$root/" "$work/example/CMakeCache.txt" || fault "another librpmem was found"
    cp "$work/example/replicate" "$1"
    pc=$(dirname "$(find "$root/usr/lib" -name librpmem.pc)")
    [ "$(PKG_CONFIG_LIBDIR=$pc pkg-config --modversion librpmem)" = \
        "$(sed -nE 's/^project\(librpmem VERSION ([0-9.]+) .*/\1/p' "$sources/CMakeLists.txt")" ] ||
        fault "librpmem.pc has another version"
}

use_it() {
    mkdir -p "$root/run/sshd"
    # shellcheck disable=SC2016 # for the other shell
    in_root --net bash -eu -c '/usr/sbin/sshd -o UsePAM=no -E /run/sshd/log
        su - user -c "bash -eu session.sh" || { cat /run/sshd/log; exit 1; }' ||
        fault "the session in the other Debian failed"
}

purge_ours() {
    echo "# changed" >>"$root/etc/rpmemd/rpmemd.conf"
    touch "$root/var/log/rpmemd.log"
    # shellcheck disable=SC2086 # a list
    apt_get purge --yes $names
    apt_get autoremove --purge --yes
}

# For a libpmemobj that refuses remote replicas: runs the commands in docs/installation.md, and then
# the session again.
use_older_pmdk() {
    sed -n '/^## Remote replicas of libpmemobj/,/^## RPM/p' "$sources/docs/installation.md" |
        sed -n '/^```sh/,/^```/p' | sed "/^\`\`\`/d; s/sudo //; s,http://[^ ]*,$(mirror_of_apt)," >"$root/root/older.sh"
    grep -q 1.12.1 "$root/root/older.sh" || fault "docs/installation.md has no commands for PMDK 1.12.1"
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/90nobody-answers"
    in_root bash -eu /root/older.sh >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fault "PMDK 1.12.1 cannot be installed as docs/installation.md says"; }
    install_ours
    use_it | tee "$work/session"
    ! grep 'refuses pool sets' "$work/session" || fault "this is not PMDK 1.12.1"
}

make_root
# shellcheck disable=SC2086 # a list
apt_get install --yes --no-install-recommends $stock
# With this, no password is accepted, but the account is not locked.
in_root useradd --create-home --shell /bin/bash --password '*' user
list_files >"$work/before"
install_ours
check_files
prepare_user
use_it
purge_ours
list_files >"$work/after"
diff "$work/before" "$work/after" >&2 || fault "apt purge does not leave what was there before: > is left, < is gone"
# shellcheck source=tests/clients/remote_replicas.sh
! in_root bash -c "$(cat "$sources/tests/clients/remote_replicas.sh"); remote_replicas_refused" || use_older_pmdk
echo "installed, used and purged in $SECONDS s"
