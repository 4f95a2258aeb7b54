#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# with_mutant.sh SOURCE_DIR BUILD_DIR MUTANT OPTION...
#
# Runs the campaign against a build with one of tests/mutation/mutants, to prove that the campaign
# finds an error in the library or the daemon that no LD_PRELOAD can plant. OPTIONs are those of
# tests/campaign/run.
set -eu -o pipefail
source_dir=$1 build_dir=$2 mutant=$3
shift 3
work=$build_dir/campaign-$mutant

rm -rf "$work"
git clone -q --shared "$source_dir" "$work/source"
"$source_dir/tests/mutation/plant" "$work/source" "$mutant"
cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=8 \
    -DRPMEM_BUILD_TESTS=ON >"$work/build.log"
cmake --build "$work/build" --target rpmem rpmemd campaign_disk campaign_image campaign_program campaign_lies \
    >>"$work/build.log" || { tail -n 30 "$work/build.log" && exit 1; }
"$source_dir/tests/campaign/run" --build "$work/build" "$@"
