#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# guarded_statics.sh LIBRARY
#
# Tests that only functions that load or initialise another library have static variables whose
# initialisation takes a lock. A child made by fork(2) while another thread of its parent holds the
# lock waits for ever. The test reads the symbols of LIBRARY, and fails if it has another such variable.
#
# Loading a library cannot be repeated, and may take long, so that these variables stay.
loaders='library\(\)::instance|functions\(\)::(loaded|once)|verbs_library\(\)::loaded|initialised\(\)::status'
symbols=$(nm -C "$1") || exit 1
guards=$(sed -n 's/.* guard variable for //p' <<<"$symbols")
[ -n "$guards" ] || {
    echo "$1 has no symbols of static variables"
    exit 1
}
if others=$(grep -vE "($loaders)\$" <<<"$guards"); then
    printf 'static variables whose initialisation a child of fork(2) may wait for:\n%s\n' "$others"
    exit 1
fi
echo "only libraries are loaded under a lock"
