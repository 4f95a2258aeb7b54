#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# short_run.sh BUILD_DIR NAME
#
# Replays the corpus of a fuzz target, and then runs the target with new inputs for 5 seconds. It
# fails if an input breaks a property, crashes, or needs too much time or memory. That input is kept
# in BUILD_DIR/findings/NAME.
set -eu -o pipefail
sources=$(cd "$(dirname "$(readlink -f "$0")")/../.." && pwd)
build=$1 name=$2
# shellcheck source=tests/fuzz/lib.sh
. "$sources/tests/fuzz/lib.sh"

new_inputs=$(mktemp -d)
trap 'rm -rf "$new_inputs"' EXIT
replay_corpus "$name" "$build/findings/$name"
start_fuzzer "$name" "$build/findings/$name" -max_total_time=5 "$new_inputs" "$(corpus_of "$name")"
