#include "fabric/domain.hpp"

#include <sys/random.h>

#include <cerrno>

namespace rpmem::fabric {
namespace {

// A key that others cannot guess keeps strangers out of the pool.
Result<std::uint64_t> random_key(std::size_t key_size) {
    std::uint64_t key = 0;
    if (getrandom(&key, sizeof(key), 0) != static_cast<ssize_t>(sizeof(key)))
        return fail_errno(ErrorClass::bug, errno, "getrandom");
    return key_size >= sizeof(key) ? key : key & ((std::uint64_t{1} << (8 * key_size)) - 1);
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
    const std::uint64_t rights = access == Access::local ? FI_READ | FI_WRITE | FI_SEND | FI_RECV
                                                         : FI_REMOTE_READ | FI_REMOTE_WRITE;
    std::uint64_t key = 0;
    if (!provider.provider_keys) {
        const Result<std::uint64_t> chosen = random_key(provider.key_size);
        if (!chosen)
            return Failure(chosen.error());
        key = *chosen;
    }
    fid_mr* region = nullptr;
    const int status =
        fi_mr_reg(domain.domain.get(), address, size, rights, 0, key, 0, &region, nullptr);
    if (status != 0)
        return fail_fabric(ErrorClass::resource_limit, status,
                           "cannot register {} bytes of memory with the provider {}", size,
                           name_of(provider.kind));
    return MemoryRegion(Handle<fid_mr>(region), provider.virtual_addressing
                                                    ? reinterpret_cast<std::uintptr_t>(address)
                                                    : 0);
}

} // namespace rpmem::fabric
