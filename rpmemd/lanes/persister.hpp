// Makes ranges of the pool durable, by the means that its medium needs.
#pragma once

#include <cstddef>
#include <string>

namespace rpmem::target {

class Medium;

enum class FlushMeans { pmem_persist, pmem_msync };

const char* name_of(FlushMeans means);

// All calls return 0 or a positive errno value, and may run in parallel on different ranges.
class Persister {
public:
    // MEDIUM must outlive this and its copies.
    explicit Persister(const Medium& medium) : medium_(&medium) {}

    [[nodiscard]] FlushMeans means() const;
    [[nodiscard]] int persist(std::byte* address, std::size_t size) const;
    [[nodiscard]] int deep_persist(std::byte* address, std::size_t size) const;

    // The medium has failed: whatever is asked of it, nothing may be acknowledged any more.
    [[nodiscard]] bool has_failed() const;
    [[nodiscard]] std::string failure_text() const;

private:
    const Medium* medium_;
};

} // namespace rpmem::target
