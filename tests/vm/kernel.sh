# SPDX-License-Identifier: BSD-3-Clause
# Makes a kernel of Debian and an initramfs for it, once, and keeps them. Sourced by run. Needs die.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2086 # run sets `here`; lists of words

kernel_cache=${XDG_CACHE_HOME:-$HOME/.cache}/rpmem-vm

# The modules that the machines need. rdma_rxe requests crc32 by name.
kernel_modules="virtio_pci virtio_net virtio_blk virtio_console virtio_rng 9pnet_virtio 9p overlay
    ext4 dm_mod dummy crc32_generic crc32c_generic ib_uverbs rdma_ucm rdma_rxe nfit nd_pmem device_dax
    dax_pmem"

# kernel_package NAME: prints the package of the newest kernel, for the name of a metapackage.
kernel_package() {
    local found
    found=$(apt-cache depends "$1" 2>/dev/null |
        sed -n 's/^ *|\?Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
    printf '%s\n' "${found:-$1}"
}

# kernel_fetch NAME DIR: unpacks the package below DIR without installing it.
kernel_fetch() {
    local name=$1 dir=$2 package
    package=$(kernel_package "$name")
    # An old index lists packages that the mirror no longer has.
    if ! (cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "$package") >/dev/null 2>&1; then
        as_root apt-get -qq update </dev/null >/dev/null 2>&1
        package=$(kernel_package "$name")
        (cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "$package" >&2) || return 1
    fi
    dpkg -x "$dir"/*.deb "$dir"
}

# kernel_copy_modules FROM VERSION TO: copies the needed modules with their dependencies.
kernel_copy_modules() {
    local from=$1 version=$2 to=$3 module file
    depmod -b "$from" "$version" 2>/dev/null
    mkdir -p "$to/lib/modules/$version"
    cp "$from/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$to/lib/modules/$version"
    for module in $kernel_modules; do
        modprobe -C /dev/null -d "$from" -S "$version" --show-depends "$module" 2>/dev/null |
            sed -n 's/^insmod \([^ ]*\).*/\1/p'
    done | sort -u | while read -r file; do
        install -D -m 644 "$file" "$to/lib/modules/$version/${file##*/kernel/}"
    done
    find "$to/lib/modules" -name '*.ko.xz' -exec xz -d {} +
    depmod -b "$to" "$version"
}

# kernel_make NAME DIR: makes DIR/vmlinuz and DIR/initrd.
kernel_make() {
    local name=$1 dir=$2 version root=$2/root
    mkdir -p "$dir/package" "$root"/{bin,proc,sys,dev,host,changes,new} || return 1
    kernel_fetch "$name" "$dir/package" || return 1
    cp "$dir"/package/boot/vmlinuz-* "$dir/vmlinuz" || return 1
    version=$(ls "$dir/package/lib/modules")
    kernel_copy_modules "$dir/package" "$version" "$root"
    printf '%s\n' $kernel_modules >"$root/modules"
    cp "$(command -v busybox)" "$root/bin/busybox" || return 1
    install -m 755 "$here/init" "$root/init" || return 1
    (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$dir/initrd" || return 1
    rm -rf "$dir/package" "$root"
}

# kernel_prepare NAME: sets kernel_directory.
kernel_prepare() {
    local name=$1 content lock made
    content=$({ printf '%s\n' "$name" $kernel_modules && cat "$here/init" "$here/kernel.sh"; } | sha256sum)
    kernel_directory=$kernel_cache/$name-${content:0:12}
    [ ! -e "$kernel_directory/initrd" ] || return 0
    mkdir -p "$kernel_cache" || return 1
    exec {lock}>"$kernel_cache/lock" || return 1
    flock "$lock"
    # Another run may have made it meanwhile. The directory is renamed when it is complete.
    if [ ! -e "$kernel_directory/initrd" ]; then
        rm -rf "$kernel_cache/$name-"*
        made=$(mktemp -d "$kernel_cache/$name-XXXXXX") || return 1
        kernel_make "$name" "$made" && mv -T "$made" "$kernel_directory" || {
            rm -rf "$made"
            return 1
        }
    fi
    exec {lock}>&-
}
