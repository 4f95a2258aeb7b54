// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/medium_kind.hpp"

#include <sys/vfs.h>

#include <algorithm>

namespace rpmem {
namespace {

struct KnownType {
    std::uint64_t type;
    MediumKind kind;
    const char* name;
};

// The numbers are from statfs(2) and <linux/magic.h>. Those of file systems outside the kernel are
// from their sources.
constexpr KnownType known_types[] = {
    {0x01021994, MediumKind::forgetful, "tmpfs"},
    {0x858458f6, MediumKind::forgetful, "ramfs"},
    {0x958458f6, MediumKind::forgetful, "hugetlbfs"},
    {0x6969, MediumKind::remote, "NFS"},
    {0x517b, MediumKind::remote, "SMB"},
    {0xff534d42, MediumKind::remote, "CIFS"},
    {0xfe534d42, MediumKind::remote, "SMB2"},
    {0x01021997, MediumKind::remote, "9P"},
    {0x00c36400, MediumKind::remote, "Ceph"},
    {0x5346414f, MediumKind::remote, "AFS"},
    {0x6b414653, MediumKind::remote, "AFS"},
    {0x73757245, MediumKind::remote, "Coda"},
    {0x0bd00bd0, MediumKind::remote, "Lustre"},
    {0x47504653, MediumKind::remote, "GPFS"},
    {0x20030528, MediumKind::remote, "OrangeFS"},
    {0x786f4256, MediumKind::remote, "vboxsf"},
    {0x65735546, MediumKind::remote, "FUSE"},
};

} // namespace

MediumName medium_of_type(std::uint64_t type) {
    const auto* const known = std::ranges::find(known_types, type, &KnownType::type);
    if (known == std::end(known_types))
        return {};
    return {known->kind, known->name};
}

MediumName medium_of(const std::string& path) {
    struct statfs system {};
    return ::statfs(path.c_str(), &system) == 0
               ? medium_of_type(static_cast<std::uint32_t>(system.f_type))
               : MediumName{};
}

MediumName medium_of(int fd) {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 ? medium_of_type(static_cast<std::uint32_t>(system.f_type))
                                       : MediumName{};
}

const char* describe(MediumKind kind) {
    return kind == MediumKind::forgetful ? "data written there is lost in a power failure"
           : kind == MediumKind::remote ? "its server decides whether data written there is durable"
                                        : "";
}

} // namespace rpmem
