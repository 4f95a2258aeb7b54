# SPDX-License-Identifier: BSD-3-Clause
# The session of a newcomer with README.md in the clone, see newcomer.sh. It uses each block of the
# text in order and as written. Only words that a reader has to replace are replaced.
# shellcheck shell=bash

readme=README.md
pool_directory=/mnt/pmem0
clone=$PWD
port=22022
[ -n "${RPMEM_JOBS:-}" ] || unset RPMEM_JOBS

say() {
    printf '=== %s s: %s\n' "$SECONDS" "$*"
}

fault() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Write the blocks to files: blocks/1.sh and so on. A block without a language is text.
mkdir ~/blocks
awk -v directory="$HOME/blocks" '
    /^ *```/ && !inside { inside = 1; language = $0; sub(/^ *```/, "", language); number++; next }
    /^ *```$/ { inside = 0; next }
    inside { print >(directory "/" number "." (language ? language : "text")) }' "$readme"
number=0

# next LANGUAGE WHAT: sets block, the file of the next block, which must be in that language.
next() {
    number=$((number + 1))
    block=$HOME/blocks/$number.$1
    [ -e "$block" ] || fault "block $number of README.md is no $1: $(ls ~/blocks)"
    say "block $number: $2"
}

# run_block: runs the commands of a block in a new shell, which ends at the first failure. Prints
# the text of the block.
run_block() {
    sed 's/^/    $ /' "$block"
    bash -eu -o pipefail "$block" </dev/null
}

# Prepares the target that README.md assumes: a key that logs in without a password, and an sshd.
prepare_target() {
    ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
    cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys
    sudo mkdir -p /run/sshd
    # This is not port 22, which an sshd of the surrounding machine may have.
    sudo /usr/sbin/sshd -o "ListenAddress=127.0.0.9:$port" -o UsePAM=no
    printf 'Host target\n    Port %s\n' "$port" >~/.ssh/config
    sed "s/^/[target]:$port /" /etc/ssh/ssh_host_*_key.pub >~/.ssh/known_hosts
    sudo install -d -o "$(id -un)" -m 0700 "$pool_directory"
}

# use_program COMMAND...: expects it to create the pool with its text, and a second run to fail.
use_program() {
    "$@" || fault "the program fails: $*"
    grep -q 'kept on two machines' "$pool_directory/pool.part0" || fault "the text is not on the target: $*"
    ! "$@" 2>/dev/null || fault "a second run creates the pool again: $*"
    rpmemd --remove pool.set
}

next sh "the first try"
run_block
next text "how it works"

next sh "installation"
run_block
mkdir -m 0700 ~/.ssh
prepare_target
ssh target rpmemd --version
rpmemctl probe target

next sh "a place of one's own"
# A reader does only one of the two installations. This list of installed files belongs to root.
sudo rm build/release/install_manifest.txt
cmake --install build/release --prefix ~/own >/dev/null
sed -i "s,\bDIR\b,$HOME/own,g" "$block"
# shellcheck disable=SC2016 # for the other shell
printf '%s\n' 'pkg-config --modversion librpmem' 'ssh target "$RPMEM_CMD" --version' >>"$block"
run_block

next text "a pool set"
cp "$block" ~/pool.set

next c "a program in C"
cp "$block" ~/program.c
cd ~ || exit
# shellcheck disable=SC2016 # these are backquotes of Markdown
bash -eu -c "$(sed -nE 's/.*\*\*Build it\*\* with `(cc [^`]*)`.*/\1/p' "$clone/$readme")"
use_program ./a.out
next cmake "the same with CMake"
mkdir with_cmake
{
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(program C)' 'add_executable(program ../program.c)'
    cat "$block"
} >with_cmake/CMakeLists.txt
cmake -G Ninja -S with_cmake -B with_cmake/build >/dev/null && cmake --build with_cmake/build
use_program with_cmake/build/program

next cpp "a program in C++"
cp "$block" program.cpp
# shellcheck disable=SC2046 # a list of options
c++ -std=c++20 -o program_cxx program.cpp $(pkg-config --cflags --libs librpmem)
use_program ./program_cxx

cd "$clone" || exit
next sh "the Python module"
run_block
next python "a program in Python"
cp "$block" ~/program.py
python3 -m zipfile -e python/dist/*.whl ~/modules
use_program env PYTHONPATH="$HOME/modules" python3 ~/program.py

next text "a local pool set"
cp "$block" "$pool_directory/local.set"
next text "and that of the target"
cp "$block" ~/remote.set
next sh "libpmemobj"
# This program takes the place of the reader's own. It needs another layout.
sudo apt-get -qq install --no-install-recommends libpmemobj-dev >/dev/null
# shellcheck disable=SC2046 # a list of options
cc -o your-program examples/counter.c $(pkg-config --cflags --libs libpmemobj)
sed -i 's/--layout=mine/--layout=counter/' "$block"
# shellcheck source=tests/clients/remote_replicas.sh
. tests/clients/remote_replicas.sh
if reason=$(remote_replicas_refused); then
    say "$reason"
    sudo apt-get -qq install pmdk-tools >/dev/null
    ! pmempool create --layout=counter obj "$pool_directory/local.set" || fault "a remote replica is not refused"
else
    run_block
fi
[ ! -e "$pool_directory/remote.part0" ] || fault "pmempool rm --all leaves the part of the target"

next sh "how fast it is"
run_block

next sh "the tests"
if [ -z "${RPMEM_NEWCOMER_ALL:-}" ]; then
    sed -i -E -e '\,^\./(tools/test asan|\.ci/run) ,d' \
        -e 's,^\./tools/test .*,./tools/test release -R "^integration\\.(cxx|arguments)$",' "$block"
fi
run_block
[ "$number" -eq "$(find ~/blocks -type f | wc -l)" ] || fault "README.md has more blocks: $(ls ~/blocks)"
say "the end of README.md"
