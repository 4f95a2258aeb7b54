// Which pages of a pool a core dump has, before, while and after the pool is open.
#include "librpmem/dump_exclusion.hpp"
#include "tests/support/dumped_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>

namespace rpmem::initiator {
namespace {

using test::dumped;

class DumpedMemory : public ::testing::Test {
protected:
    static constexpr std::size_t pages = 6;
    void SetUp() override {
        page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        void* const address = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(address, MAP_FAILED);
        memory = {static_cast<std::byte*>(address), pages * page};
        // The application's own admitted.
        ASSERT_EQ(::madvise(memory.data() + 2 * page, page, MADV_DONTDUMP), 0);
        ASSERT_EQ(dumped(memory), "dd-ddd");
    }
    void TearDown() override { ::munmap(memory.data(), memory.size()); }

    std::size_t page = 0;
    std::span<std::byte> memory;
};

TEST_F(DumpedMemory, IsAsItWasAfterwards) {
    {
        const DumpExclusion exclusion(memory.subspan(page, 4 * page));
        EXPECT_EQ(dumped(memory), "d----d");
    }
    EXPECT_EQ(dumped(memory), "dd-ddd");
}

TEST_F(DumpedMemory, MayBelongToSeveralPools) {
    std::optional<DumpExclusion> first(memory);
    std::optional<DumpExclusion> second(memory);
    EXPECT_EQ(dumped(memory), "------");
    second.reset();
    EXPECT_EQ(dumped(memory), "------");
    first.reset();
    EXPECT_EQ(dumped(memory), "dd-ddd");
}

TEST_F(DumpedMemory, MayBeGoneAtTheEnd) {
    const DumpExclusion exclusion(memory);
    EXPECT_EQ(dumped(memory), "------");
    ASSERT_EQ(::munmap(memory.data(), memory.size()), 0);
}

} // namespace
} // namespace rpmem::initiator
