// Makes ranges of the pool durable, by the means that its medium needs.
#pragma once

#include <cstddef>
#include <span>

namespace rpmem::target {

enum class FlushMeans { pmem_persist, pmem_msync };

const char* name_of(FlushMeans means);

// All calls return 0 or a positive errno value, and may run in parallel on different ranges.
class Persister {
public:
    explicit Persister(FlushMeans means) : means_(means) {}

    [[nodiscard]] FlushMeans means() const { return means_; }
    [[nodiscard]] int persist(std::byte* address, std::size_t size) const;
    [[nodiscard]] int deep_persist(std::byte* address, std::size_t size) const;
    // Copies without ever tearing an aligned 8-byte word, then persists.
    [[nodiscard]] int copy_and_persist(std::byte* destination,
                                       std::span<const std::byte> data) const;

private:
    FlushMeans means_;
};

} // namespace rpmem::target
