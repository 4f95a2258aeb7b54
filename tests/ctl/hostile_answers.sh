#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hostile_answers.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL
#
# Tests verbs of rpmemctl with a hostile target: a script behind the real sshd answers with deeply
# nested JSON or absurd sizes. Each verb must fail with an error within 20 s. It fails on a crash, a
# hang or a success, and if pull creates or changes a file because of a size in the answer.
set -u
# shellcheck source=tests/ctl/lib.sh
. "$(dirname "$0")/lib.sh"

cat >"$dir/target" <<END
#!/bin/sh
cat "$dir/answer"
END
chmod +x "$dir/target"
export RPMEM_CMD=$dir/target
head -c 8192 /dev/zero >"$dir/image"

# refused VERB...: expects the verb to fail within 20 seconds.
refused() {
    local status=0
    timeout 20 "$ctl" "$@" >"$dir/output" 2>"$dir/errors" </dev/null || status=$?
    [ "$status" -gt 0 ] && [ "$status" -lt 124 ] ||
        fault "rpmemctl $*: status $status" "$(head -c 400 "$dir/output" "$dir/errors")"
}

each_verb() {
    refused probe "$target" --json
    refused list "$target"
    refused list "$target" --json
    refused info "$target" p.set --json
    refused sessions "$target"
    refused check "$target" p.set --json
    refused verify "$dir/image" "$target" p.set
    refused doctor "$target"
}

nested() {
    local levels=100000 member
    for member in format providers error; do
        {
            printf '{"%s":' "$member"
            head -c $levels /dev/zero | tr '\0' '['
            head -c $levels /dev/zero | tr '\0' ']'
            printf '}\n'
        } >"$dir/answer"
        each_verb
    done
}

digests() { # SIZE LENGTH CHUNK
    printf '{"format":1,"headers":"none","algorithm":"xxh3-128","size":%s,"first":4096,"length":%s,"chunk":%s,"digests":["%032d"]}\n' \
        "$1" "$2" "$3" 0 >"$dir/answer"
}

huge_chunk() {
    digests 8192 8192 $((1 << 62))
    refused verify "$dir/image" "$target" p.set
    says 'chunks may have at most'
    digests $((1 << 62)) 8192 $((1 << 62))
    refused verify "$dir/image" "$target" p.set
    digests 8192 8192 $((1 << 21))
    refused verify "$dir/image" "$target" p.set
}

# pull must not set the size of a file before it has opened a session for the pool.
resized_file() {
    printf 'precious' >"$dir/kept"
    local size
    for size in $((1 << 62)) $((1 << 40)) 1048576; do
        digests "$size" "$size" "$size"
        refused pull "$target" p.set "$dir/back"
        [ ! -e "$dir/back" ] || fault "pull left a file of $(stat -c %s "$dir/back") bytes"
        refused pull "$target" p.set "$dir/kept"
        [ "$(cat "$dir/kept")" = precious ] || fault "pull changed a file"
    done
}

run_parts nested huge_chunk resized_file
