#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# licence.sh SOURCE_DIR
#
# Tests that LICENSE exists, and that each source, script, CMake file, manual page and file of the
# packages names the licence. It fails for a file without the SPDX line. Texts, data, mutants, and
# formats without comments are not checked.
set -eu
cd "$1"
grep -qx 'BSD 3-Clause License' LICENSE || { echo "LICENSE is not the BSD-3-Clause license"; exit 1; }

files=0 faults=0
while IFS= read -r file; do
    files=$((files + 1))
    head -n 3 "$file" | grep -qF 'SPDX-License-Identifier: BSD-3-Clause' || {
        echo "$file: no SPDX-License-Identifier in the first three lines"
        faults=1
    }
done < <(find . \( -path ./.git -o -path './build*' -o -path ./.cache -o -path ./tests/data \) -prune -o -type f -print |
    grep -vE '\.(md|json)$|^\./(tests/mutation/mutants/|LICENSE$|debian/(changelog|copyright|source/format)$)')
[ "$files" -ge 500 ] || { echo "only $files files"; faults=1; }
exit $faults
