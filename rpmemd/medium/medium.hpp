// What a mapped pool lies on, part by part, and how ranges of it are made durable there.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

struct pmem2_map;
struct pmem2_source;

namespace rpmem::target {

// What is in the processor's caches survives a loss of power: the platform says so (eADR), or
// PMEM_NO_FLUSH, see libpmem(7), which has the last word.
[[nodiscard]] bool caches_are_durable();

// The mappings are the caller's; they must outlive this. The calls that make ranges durable return
// 0 or a positive errno value, and may run in parallel.
class Medium {
public:
    // The file FD is mapped at [ADDRESS, ADDRESS + SIZE), right after those added before; it must
    // stay open. PATH is for messages.
    Result<> add(int fd, const std::string& path, std::byte* address, std::size_t size,
                 bool is_pmem);

    [[nodiscard]] bool is_pmem() const { return all_pmem_; } // no part needs msync(2)
    [[nodiscard]] int persist(std::byte* address, std::size_t size) const;
    // Past the caches of the platform, as far as software can ask for it. Where the device offers
    // nothing deeper than persist(), or not to this user, that is all.
    [[nodiscard]] int deep_persist(std::byte* address, std::size_t size) const;

private:
    struct DeleteSource {
        void operator()(pmem2_source* source) const;
    };
    struct DeleteMap {
        void operator()(pmem2_map* map) const;
    };
    struct Range {
        std::byte* begin;
        std::byte* end;
        std::unique_ptr<pmem2_source, DeleteSource> source; // these two only for pmem
        std::unique_ptr<pmem2_map, DeleteMap> map;
    };
    // Calls PERSIST(range, address, size) for the share of each range until one fails.
    template <typename Persist>
    int for_each_share(std::byte* address, std::size_t size, Persist persist) const;

    std::vector<Range> ranges_; // by address
    bool all_pmem_ = true;
};

} // namespace rpmem::target
