#include "rpmemd/lanes/persister.hpp"

#include "rpmemd/medium/medium.hpp"

namespace rpmem::target {

const char* name_of(FlushMeans means) {
    return means == FlushMeans::pmem_persist ? "pmem_persist" : "pmem_msync";
}

FlushMeans Persister::means() const {
    return medium_->is_pmem() ? FlushMeans::pmem_persist : FlushMeans::pmem_msync;
}

int Persister::persist(std::byte* address, std::size_t size) const {
    return size == 0 ? 0 : medium_->persist(address, size);
}

int Persister::deep_persist(std::byte* address, std::size_t size) const {
    return size == 0 ? 0 : medium_->deep_persist(address, size);
}

bool Persister::has_failed() const { return medium_->failure_code() != 0; }

std::string Persister::failure_text() const {
    const auto failure = medium_->failure();
    return failure ? failure->text : std::string();
}

} // namespace rpmem::target
