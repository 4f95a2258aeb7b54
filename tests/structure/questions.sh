#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# questions.sh SOURCE_DIR: the answers of docs/architecture.md to its questions, and the functions that
# it names, are in the files where it says so.
# shellcheck disable=SC2016 # the backquotes are those of the document
set -eu
cd "$1"
faults=0
answers=0

# look_for FILE NAME
look_for() {
    answers=$((answers + 1))
    grep -qsF -- "$2" "$1" || {
        echo "docs/architecture.md: $1 is not there, or has no $2"
        faults=1
    }
}

while read -r file name; do
    look_for "$file" "$name"
done < <(sed -nE 's/^\| .*\? \| `([^`]+)` \| `([^`]+)` \|$/\1 \2/p' docs/architecture.md)
[ "$answers" -eq 15 ] || {
    echo "docs/architecture.md: $answers of 15 questions have an answer"
    faults=1
}
while read -r name file; do
    look_for "$file" "$name"
done < <(grep -oE '`[A-Za-z_:]+\(\)` ?\(`[a-z_/.]+`\)' docs/architecture.md |
    sed -E 's/`([A-Za-z_:]+)\(\)` ?\(`([^`]+)`\)/\1 \2/')

# The command that runs one test names one that there is.
while IFS=. read -r suite name; do
    grep -rqE "^TEST(_[FP])?\($suite, $name" tests/unit || {
        echo "docs/architecture.md: there is no test $suite.$name"
        faults=1
    }
done < <(sed -nE "s/.*-R '\^([A-Za-z]+\.[A-Za-z]+)'.*/\1/p" docs/architecture.md)

[ $faults = 0 ] && echo "$answers answers are where they should be"
exit $faults
