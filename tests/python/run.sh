#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh SOURCES LIBRARY RPMEMD
#
# Tests the wheel of the Python module with a real daemon, below with-sshd. It builds the wheel
# without the network, and runs the module's tests, the program in README.md and the example with
# nothing but the wheel. It fails if a file is missing in the wheel, if a program fails, or if the
# target has other bytes than the programs wrote.
set -eu

sources=$1
daemon=$3
work=$RPMEM_TEST_DIR
python=/usr/bin/python3 # Debian's, which has Debian's cffi
export PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1
unset PYTHONPATH

fault() {
    printf '%s\n' "$*" >&2
    [ ! -s "$work/rpmemd.log" ] || cat "$work/rpmemd.log" >&2
    exit 1
}

"$python" -c 'import cffi, pytest, setuptools, wheel' || {
    echo "packages are missing: apt-get install python3-cffi python3-pytest python3-setuptools python3-wheel"
    [ -z "${CI:-}" ] || exit 1
    exit 77
}

# setuptools writes files beside the sources, so it gets a copy.
mkdir "$work/sets"
cp -r "$sources/python" "$work/python"
(cd "$work/python" && "$python" setup.py -q bdist_wheel --dist-dir "$work/dist") >"$work/wheel.log" 2>&1 || {
    cat "$work/wheel.log"
    fault "the wheel cannot be made"
}
wheel=$(echo "$work"/dist/librpmem-*-py3-none-any.whl)
[ -s "$wheel" ] || fault "there is no wheel, but: $(ls "$work/dist")"
cd "$work" # Python must not find the sources

# The dynamic linker finds this file first, and cannot load it.
mkdir "$work/missing"
: >"$work/missing/librpmem.so.1"
says=$(LD_LIBRARY_PATH=$work/missing PYTHONPATH="$wheel" "$python" -c 'import librpmem' 2>&1) &&
    fault "the module does without librpmem.so.1" ||
    grep -q 'ImportError: cannot load librpmem.so.1: .*LD_LIBRARY_PATH' <<<"$says" ||
    fault "without the library the module says: $says"

LD_LIBRARY_PATH=$(dirname "$2")
# The tests replace this script, and kill the process that it names.
command=$(printf '%q ' "$daemon" --poolset-dir "$work/sets" --state-dir "$work/state" \
    --log-file "$work/rpmemd.log" --log-level notice)
RPMEM_CMD=$work/command
printf '#!/bin/sh\necho $$ >%q\nexec %s "$@"\n' "$work/pid" "$command" >"$RPMEM_CMD"
chmod 755 "$RPMEM_CMD"
export LD_LIBRARY_PATH RPMEM_CMD RPMEM_TEST_SETS=$work/sets RPMEM_TEST_HEADER=$sources/include/librpmem.h
export RPMEM_LOG_LEVEL=0 PYTHONPATH=$wheel
"$python" "$sources/tests/python/test_librpmem.py" || fault "tests of the Python module failed"

# expect_kept PART: expects the bytes that the program in README.md writes.
expect_kept() {
    [ "$(head -c $((4096 + 20)) "$1" | tail -c 20)" = "kept on two machines" ] ||
        fault "$1 does not hold what the program in README.md wrote"
}
printf 'PMEMPOOLSET\n32M %s\n' "$work/sets/snippet.part0" >"$work/sets/pool.set"
sed -n '/^```python$/,/^```$/p' "$sources/README.md" |
    sed "/^\`\`\`/d; s/\"target\"/\"$RPMEM_TEST_TARGET\"/" >"$work/snippet.py"
"$python" "$work/snippet.py" || fault "the Python program in README.md failed"
expect_kept "$work/sets/snippet.part0"

part=$work/sets/example.part0
printf 'PMEMPOOLSET\n32M %s\n' "$part" >"$work/sets/example.set"
"$python" "$sources/examples/replicate.py" "$RPMEM_TEST_TARGET" example.set ||
    fault "examples/replicate.py failed"
{
    head -c 4096 "$part"
    printf 'kept on two machines\0'
    head -c $((32 * 1024 * 1024 - 4096 - 21)) /dev/zero | tr '\0' '\52'
} | cmp - "$part" || fault "$part does not hold what examples/replicate.py wrote"
! "$python" "$sources/examples/replicate.py" "$RPMEM_TEST_TARGET" example.set 2>"$work/error" ||
    fault "examples/replicate.py makes a pool that exists"
grep -q 'holds a pool' "$work/error" || fault "examples/replicate.py does not say why it failed"
