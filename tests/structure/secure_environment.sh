#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# secure_environment.sh SOURCE_DIR
#
# Tests that the library reads the environment only with secure_getenv(3), which finds nothing in a
# program with more rights than its user. It searches the sources, and fails for a call of
# getenv(3).
set -eu
cd "$1"
if grep -rnE '(^|[^_[:alnum:]])getenv\>' common librpmem | grep -v ':[0-9]*: *//'; then
    echo "use ::secure_getenv()" >&2
    exit 1
fi
grep -rq '::secure_getenv(' common librpmem || { echo "nothing was searched"; exit 1; }
