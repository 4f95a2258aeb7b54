#include "lanes/persister.hpp"

#include "lanes/word_copy.hpp"

#include <libpmem.h>

#include <cerrno>

namespace rpmem::target {

const char* name_of(FlushMeans means) {
    return means == FlushMeans::pmem_persist ? "pmem_persist" : "pmem_msync";
}

int Persister::persist(std::byte* address, std::size_t size) const {
    if (size == 0)
        return 0;
    if (means_ == FlushMeans::pmem_persist) {
        pmem_persist(address, size);
        return 0;
    }
    return pmem_msync(address, size) == 0 ? 0 : errno;
}

int Persister::deep_persist(std::byte* address, std::size_t size) const {
    if (size == 0)
        return 0;
    const int status = means_ == FlushMeans::pmem_persist ? pmem_deep_persist(address, size)
                                                          : pmem_msync(address, size);
    return status == 0 ? 0 : errno;
}

int Persister::copy_and_persist(std::byte* destination, std::span<const std::byte> data) const {
    copy_words(destination, data);
    return persist(destination, data.size());
}

} // namespace rpmem::target
