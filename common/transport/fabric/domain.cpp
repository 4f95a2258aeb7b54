#include "common/transport/fabric/domain.hpp"

#include "common/rdma/fork_safety.hpp"
#include "common/rdma/memory_lock.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace rpmem::fabric {
namespace {

// A key that others cannot guess keeps strangers out of the pool.
Result<std::uint64_t> random_key(std::size_t key_size) {
    std::uint64_t key = 0;
    if (getrandom(&key, sizeof(key), 0) != static_cast<ssize_t>(sizeof(key)))
        return fail_errno(ErrorClass::bug, errno,
                          "no random bytes for the key of a memory region (getrandom)");
    return key_size >= sizeof(key) ? key : key & ((std::uint64_t{1} << (8 * key_size)) - 1);
}

std::uint64_t rights_of(Access access) {
    switch (access) {
    case Access::local:
        return FI_READ | FI_WRITE | FI_SEND | FI_RECV;
    case Access::remote:
        return FI_REMOTE_READ | FI_REMOTE_WRITE | FI_SEND;
    case Access::remote_read:
        break;
    }
    return FI_REMOTE_READ | FI_SEND;
}

// What the kernel says of memory that it does not pin is one word, and leads nobody on.
std::string pinning_advice(int code, const void* address, std::size_t size) {
    switch (code) {
    case ENOMEM:
        return "; " + rdma::explain_lock_limit(rdma::read_lock_limit(),
                                               reinterpret_cast<std::uintptr_t>(address), size,
                                               rdma::name_of_user());
    case EOPNOTSUPP:
        return ": the kernel pins no files of a file system on persistent memory (mounted with -o "
               "dax) for RDMA; make the pool of Device DAX (ndctl create-namespace -m devdax, and "
               "AUTO /dev/dax0.0 in the pool set file), use a device with on-demand paging "
               "(RPMEM_ODP), or TCP: RPMEM_ENABLE_VERBS=0 at the initiator";
    case EFAULT:
        return ": kernels since 6.5 pin no files of ordinary file systems for RDMA; make the pool "
               "of Device DAX or of files on tmpfs, use a device with on-demand paging "
               "(RPMEM_ODP), or TCP: RPMEM_ENABLE_VERBS=0 at the initiator";
    case EINVAL:
        // Children are denied whole pages, which madvise(2) does not do with parts of large ones.
        if (const auto safety = rdma::fork_safety();
            safety && *safety == rdma::ForkSafety::kept_from_children &&
            !::secure_getenv("RDMAV_HUGEPAGES_SAFE"))
            return "; if the memory is in huge pages or Device DAX, set RDMAV_HUGEPAGES_SAFE=1 in "
                   "the environment: ibv_fork_init(3) is in force, and needs to know";
        return {};
    default:
        return {};
    }
}

} // namespace

Result<Domain> open_domain(const Provider& provider) {
    fid_fabric* fabric = nullptr;
    int status = fi_fabric(provider.info->fabric_attr, &fabric, nullptr);
    if (status != 0)
        return fail_fabric(ErrorClass::resource_limit, status, "cannot open the fabric {}",
                           name_of(provider.kind));
    Domain opened{Handle<fid_fabric>(fabric), nullptr};
    fid_domain* domain = nullptr;
    status = fi_domain(fabric, provider.info.get(), &domain, nullptr);
    if (status != 0)
        return fail_fabric(ErrorClass::resource_limit, status, "cannot open the {} device {}",
                           name_of(provider.kind), provider.info->domain_attr->name);
    opened.domain.reset(domain);
    return opened;
}

Result<MemoryRegion> register_memory(const Domain& domain, const Provider& provider, void* address,
                                     std::size_t size, Access access) {
    if (access == Access::local && !provider.local_registration)
        return MemoryRegion();
    const std::uint64_t rights = rights_of(access);
    const bool pins = provider.pins_memory && !provider.pages_on_demand;
    const std::string failing = fmt::format(
        "cannot register {} bytes of memory with the provider {}", size, name_of(provider.kind));
    if (pins)
        RPMEM_TRY(in_context(failing, rdma::make_room_to_lock(address, size)));
    std::uint64_t key = 0;
    if (!provider.provider_keys) {
        RPMEM_ASSIGN(key, random_key(provider.key_size));
    }
    fid_mr* region = nullptr;
    const int status =
        fi_mr_reg(domain.domain.get(), address, size, rights, 0, key, 0, &region, nullptr);
    if (status != 0) {
        Error error = fail_fabric(ErrorClass::resource_limit, status, "{}", failing).value();
        if (pins)
            error.text += pinning_advice(error.code, address, size);
        return Failure(std::move(error));
    }
    return MemoryRegion(Handle<fid_mr>(region), provider.virtual_addressing
                                                    ? reinterpret_cast<std::uintptr_t>(address)
                                                    : 0);
}

} // namespace rpmem::fabric
