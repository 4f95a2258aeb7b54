#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hostile_answers.sh RPMEMCTL RPMEMD JSON_HAS HOLD_POOL, below with-sshd: a target that answers what it
# likes. Each verb has to end soon, with an error and without a signal, and change no file.
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

# refused VERB...: within 20 seconds.
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

# The size of a pool is believed after a session for it was opened.
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
