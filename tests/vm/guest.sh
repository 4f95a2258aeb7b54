# SPDX-License-Identifier: BSD-3-Clause
# Starts virtual machines, waits for them, and kills them. Sourced by run, whose variables it uses.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086 # the variables of run; an option or none

guest_pids=()

# guest_parameters COMMAND...: prints the variables that `start` reads in the machine.
guest_parameters() {
    local directory=$PWD command=("$@")
    declare -p directory command
}

# guest_wire NAME: prints QEMU's arguments for an Ethernet card. A socket connects the two machines.
guest_wire() {
    local end=$share/wire
    case $1 in
    target)
        printf '%s\n' -netdev "stream,id=wire,server=on,addr.type=unix,addr.path=$end" \
            -device virtio-net-pci,netdev=wire,mac=52:54:00:00:00:02
        ;;
    initiator)
        printf '%s\n' -netdev "stream,id=wire,server=off,addr.type=unix,addr.path=$end" \
            -device virtio-net-pci,netdev=wire,mac=52:54:00:00:00:01
        ;;
    *) printf '%s\n' -nic none ;;
    esac
}

# guest_memory [FILE,MIB...]: prints QEMU's arguments for memory and for an NVDIMM in each FILE.
guest_memory() {
    local number=0 file size
    if [ $# -eq 0 ]; then
        printf '%s\n' -machine pc -m "${memory}M"
        return
    fi
    printf '%s\n' -machine pc,nvdimm=on -m "${memory}M,slots=$#,maxmem=64G"
    for file; do
        size=${file##*,} file=${file%,*}
        file=${file:-$share/nvdimm$number}
        [ -e "$file" ] || truncate -s "${size}M" "$file"
        printf '%s\n' \
            -object "memory-backend-file,id=nvdimm$number,share=on,mem-path=$file,size=${size}M" \
            -device "nvdimm,memdev=nvdimm$number"
        number=$((number + 1))
    done
}

# guest_disks [FILE,MIB...]: prints QEMU's arguments for a disk in each FILE: vda, vdb and so on.
guest_disks() {
    local number=0 file size
    for file; do
        size=${file##*,} file=${file%,*}
        file=${file:-$share/disk$number}
        [ -e "$file" ] || truncate -s "${size}M" "$file"
        printf '%s\n' -drive "if=none,id=disk$number,file=$file,format=raw,cache=unsafe" \
            -device "virtio-blk-pci,drive=disk$number"
        number=$((number + 1))
    done
}

# guest_start NAME COMMAND...: starts a machine. NAME is single, or initiator or target of two.
guest_start() {
    local name=$1 arguments quiet=quiet reset=-no-reboot
    shift
    guest_parameters "$@" >"$share/$name.parameters"
    cp "$here/start" "$share/start"
    : >"$share/$name.output"
    [ "$verbose" = no ] || quiet=ignore_loglevel
    [ "$name $resets" != "target yes" ] || reset=
    mapfile -t arguments < <(guest_wire "$name"
        case $name in
        initiator) guest_memory ;;
        *) guest_memory "${nvdimms[@]}" && guest_disks "${disks[@]}" ;;
        esac)
    # The machine dies with this script, even if the script is killed and cannot clean up.
    setpriv --pdeathsig KILL qemu-system-x86_64 "${arguments[@]}" \
        -name "rpmem-$name" -nodefaults -display none $reset -smp "$processors" \
        -accel tcg,thread=multi,tb-size=256 -cpu max \
        -kernel "$kernel_directory/vmlinuz" -initrd "$kernel_directory/initrd" \
        -append "console=ttyS0 $quiet panic=-1 mitigations=off nokaslr no_timer_check tsc=reliable rpmem_guest=$name" \
        -serial "file:$share/$name.console" -device virtio-serial-pci \
        -chardev "file,id=output,path=$share/$name.output" -device virtserialport,chardev=output \
        -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
        -virtfs "local,path=$share,mount_tag=share,security_model=none" \
        -object rng-random,id=random,filename=/dev/urandom -device virtio-rng-pci,rng=random \
        </dev/null >"$share/$name.qemu" 2>&1 &
    guest_pids+=($!)
    [ "$name" != target ] || guest_await_wire
}

# Waits for the socket, because QEMU does not retry to connect. On a busy machine this takes long.
guest_await_wire() {
    local attempt
    for ((attempt = 0; attempt < 2400; attempt++)); do
        [ ! -S "$share/wire" ] || return 0
        kill -0 "${guest_pids[-1]}" 2>/dev/null || break
        sleep 0.05
    done
    guest_explain target.qemu >&2
    die "the second machine does not start"
}

guest_kill() {
    [ ${#guest_pids[@]} -eq 0 ] || kill -KILL "${guest_pids[@]}" 2>/dev/null
    wait "${guest_pids[@]}" 2>/dev/null
    guest_pids=()
}

# guest_wait: waits for the end of the machine that was started last, and prints its output. Returns
# the exit status for run.
guest_wait() {
    local pid=${guest_pids[-1]} name=single follower timer status
    [ "$two" = no ] || name=initiator
    tail --pid="$pid" -s 0.2 -n +1 -f "$share/$name.output" &
    follower=$!
    (
        trap 'kill $!' TERM
        sleep "$limit" &
        wait $! && touch "$share/late" && kill -KILL "$pid"
    ) &
    timer=$!
    wait "$pid" 2>/dev/null
    { kill "$timer" && wait "$timer" "$follower"; } 2>/dev/null
    [ "$verbose" = no ] || cat "$share/$name.console" >&2
    status=$(cat "$share/$name.status" 2>/dev/null)
    if [ -e "$share/late" ]; then
        printf '%s: ended after %s s (--timeout)\n' "$0" "$limit" >&2
        status=124
    fi
    case ${status:=125} in
    0) ;;
    124 | 125) guest_explain "$name.qemu" "$name.console" target.output >&2 ;;
    *) guest_explain target.output >&2 ;;
    esac
    return "$status"
}

# guest_explain FILE...: prints the last lines of other output of the machine.
guest_explain() {
    local file
    for file; do
        [ -s "$share/$file" ] || continue
        printf -- '--- %s, last lines\n' "$file"
        tail -n 20 "$share/$file"
    done
}
