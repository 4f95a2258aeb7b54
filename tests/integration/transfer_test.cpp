// SPDX-License-Identifier: BSD-3-Clause
// Tests the transfer of data with each persist method and transport: ranges of all sizes and
// alignments go through the real library and daemon, and the part files are compared. A byte that
// is missing, misplaced, or written outside of the ranges makes a test fail.
#include "tests/integration/environment.hpp"

namespace rpmem::test {
namespace {

struct Method {
    const char* name;
    const char* options;
    const char* variables;
};

// The parameter is a persist method or transport.
class Transfer : public PoolTest, public ::testing::WithParamInterface<Method> {
protected:
    Transfer() : PoolTest(16) { set_daemon(GetParam().options, GetParam().variables); }

    // Expects these bytes on the target, without comparing the header.
    void expect_media(const std::vector<std::byte>& bytes) const {
        const auto media = part(0);
        EXPECT_TRUE(std::ranges::equal(std::span(media).subspan(header_size),
                                       std::span(bytes).subspan(header_size)));
    }

    // Fails unless exactly [offset, offset + length) of the target equals the local pool.
    void expect_only(std::size_t offset, std::size_t length) const {
        auto media = part(0);
        ASSERT_EQ(media.size(), local.size());
        EXPECT_EQ(std::memcmp(media.data() + offset, local.data() + offset, length), 0);
        std::memset(media.data(), 0, header_size);
        std::memset(media.data() + offset, 0, length);
        EXPECT_EQ(
            std::memcmp(media.data(), std::vector<std::byte>(media.size()).data(), media.size()), 0)
            << "something was written outside " << offset << "+" << length;
    }
};

INSTANTIATE_TEST_SUITE_P(
    Methods, Transfer,
    ::testing::Values(Method{"Msync", "", ""}, Method{"Pmem", "", "PMEM_IS_PMEM_FORCE=1"},
                      Method{"Appliance", "--persist-apm", "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1"},
                      Method{"Tls", "--tls=on", "PMEM_IS_PMEM_FORCE=1"},
                      Method{"Messages", "--direct-access=no", "PMEM_IS_PMEM_FORCE=1"},
                      // This daemon gets no offer, so it treats the library as one of 1.12.1.
                      Method{"OldTarget", "", "unset RPMEMD_OFFER; PMEM_IS_PMEM_FORCE=1"},
                      Method{"OldAppliance", "--persist-apm",
                             "unset RPMEMD_OFFER; PMEM_IS_PMEM_FORCE=1"},
                      Method{"DurableCaches", "", "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST_P(Transfer, PersistReachesTheMediaAndNothingElse) {
    for (const unsigned flags : {0U, RPMEM_PERSIST_RELAXED}) {
        RPMEMpool* pool = created();
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 12345, 3 * 8192 + 77, 0, flags)));
        expect_only(12345, 3 * 8192 + 77);
        ASSERT_TRUE(succeeded(rpmem_close(pool)));
        expect_only(12345, 3 * 8192 + 77);
        ASSERT_TRUE(succeeded(remove()));
    }
}

TEST_P(Transfer, EverySizeAndAlignment) {
    RPMEMpool* pool = created();
    std::vector<std::byte> expected(local.size());
    std::size_t offset = header_size;
    for (const std::size_t length :
         std::to_array<std::size_t>({1,      2,      7,      8,      9,      63,     64,     65,
                                     4096,   8191,   8192,   8193,   32769,  65535,  65537,  99999,
                                     131071, 131072, 131073, 524287, 524288, 524289, 1048577}))
        for (const std::size_t shift : std::to_array<std::size_t>({0, 1, 7, 56})) {
            offset += shift;
            ASSERT_TRUE(succeeded(rpmem_persist(pool, offset, length, 0, shift & 1U)));
            std::memcpy(expected.data() + offset, local.data() + offset, length);
            std::vector<std::byte> back(length);
            ASSERT_TRUE(succeeded(rpmem_read(pool, back.data(), offset, length, 0)));
            ASSERT_EQ(std::memcmp(back.data(), local.data() + offset, length), 0)
                << length << " bytes at " << offset;
            offset += length + 3;
        }
    ASSERT_TRUE(succeeded(rpmem_persist(pool, local.size() - 1, 1, 0, 0)));
    expected.back() = local.data()[local.size() - 1];
    expect_media(expected);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, FlushesBeyondTheWorkQueueAndOneDrain) {
    for (const unsigned flags : {0U, RPMEM_FLUSH_RELAXED}) {
        RPMEMpool* pool = created(2);
        constexpr std::size_t step = 8000;
        constexpr std::size_t count = 500; // ten times the default queue
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_TRUE(succeeded(rpmem_flush(pool, header_size + i * step, step, 1, flags)));
        ASSERT_TRUE(succeeded(rpmem_drain(pool, 1, 0)));
        expect_only(header_size, count * step);
        ASSERT_TRUE(succeeded(rpmem_close(pool)));
        ASSERT_TRUE(succeeded(remove()));
    }
}

// Small flushes may share a message. Some are too long for that.
TEST_P(Transfer, SmallFlushesOfEveryLength) {
    RPMEMpool* pool = created();
    std::vector<std::byte> expected(local.size());
    std::size_t offset = header_size;
    for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t length = i % 100 == 99 ? 4097 + i : 1 + i * 37 % 4096;
        ASSERT_TRUE(succeeded(rpmem_flush(pool, offset, length, 0, i & 1U)));
        std::memcpy(expected.data() + offset, local.data() + offset, length);
        offset += length + i % 11;
        if (i % 700 == 0) {
            ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
        }
    }
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    expect_media(expected);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, PersistConfirmsWhatWasFlushedBefore) {
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(rpmem_flush(pool, 8192, 1000, 0, RPMEM_FLUSH_RELAXED)));
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192 + 1000, 1000, 0, 0)));
    expect_only(8192, 2000);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, ReadSeesWhatItsLaneFlushedBefore) {
    RPMEMpool* pool = created();
    for (const std::size_t length : {64U, 4096U, 600000U})
        for (unsigned i = 1; i <= 40; ++i) {
            std::byte* const range = local.data() + header_size;
            std::memset(range, static_cast<int>(i), length);
            const unsigned flags = i % 2 == 0 ? RPMEM_FLUSH_RELAXED : 0;
            ASSERT_TRUE(succeeded(rpmem_flush(pool, header_size, length, 0, flags)));
            std::vector<std::byte> seen(length);
            ASSERT_TRUE(succeeded(rpmem_read(pool, seen.data(), header_size, length, 0)));
            ASSERT_EQ(std::memcmp(seen.data(), range, length), 0) << length << " bytes, " << flags;
        }
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, CloseWithoutDrainLosesNothing) {
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(rpmem_flush(pool, 8192, 500000, 0, RPMEM_FLUSH_RELAXED)));
    ASSERT_TRUE(succeeded(rpmem_flush(pool, 508192, 64, 0, 0)));
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    expect_only(8192, 500064);
}

TEST_P(Transfer, DeepPersist) {
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(rpmem_flush(pool, 20000, 3000, 0, 0)));
    ASSERT_TRUE(succeeded(rpmem_deep_persist(pool, 20001, 30000, 0)));
    expect_only(20000, 30001);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, ReadReturnsTheTargetsBytes) {
    RPMEMpool* pool = created();
    ASSERT_TRUE(succeeded(
        rpmem_persist(pool, header_size, local.size() - header_size, 0, RPMEM_PERSIST_RELAXED)));
    std::vector<std::byte> back(local.size());
    ASSERT_TRUE(succeeded(rpmem_read(pool, back.data(), 0, back.size(), 0)));
    EXPECT_EQ(back, part(0)); // the header included
    EXPECT_EQ(std::memcmp(back.data(), "SAMPLE_1", 8), 0);

    // A small range is read into the pool itself.
    const std::vector<std::byte> before(local.data(), local.data() + local.size());
    std::memset(local.data(), 0, local.size());
    ASSERT_TRUE(succeeded(rpmem_read(pool, local.data() + 8000, 8000, 5000, 0)));
    EXPECT_EQ(std::memcmp(local.data() + 8000, before.data() + 8000, 5000), 0);
    EXPECT_EQ(local.data()[7999], std::byte{0});
    EXPECT_EQ(local.data()[13000], std::byte{0});
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, LanesInParallel) {
    constexpr unsigned wanted = 4;
    RPMEMpool* pool = created(wanted);
    ASSERT_EQ(lanes_in_force, wanted);
    const std::size_t share = (local.size() - header_size) / wanted / 4096 * 4096;
    std::vector<std::thread> threads;
    std::vector<int> failures(wanted);
    for (unsigned lane = 0; lane < wanted; ++lane)
        threads.emplace_back([&, lane] {
            const std::size_t begin = header_size + lane * share;
            for (std::size_t at = 0; at < share; at += 65536) {
                const std::size_t length = std::min<std::size_t>(65536, share - at);
                const unsigned flags = at % 131072 == 0 ? 0 : RPMEM_PERSIST_RELAXED;
                failures[lane] += rpmem_persist(pool, begin + at, length, lane, flags) != 0;
            }
            std::vector<std::byte> back(share);
            failures[lane] += rpmem_read(pool, back.data(), begin, share, lane) != 0;
            failures[lane] += std::memcmp(back.data(), local.data() + begin, share) != 0;
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(failures, std::vector<int>(wanted));
    expect_only(header_size, wanted * share);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, PartsHoldTheirShareOfThePool) {
    write_pool_set("pool.set", "8M %/part0\n10M %/part1\n12M %/part2");
    LocalPool large(28 * mebibyte);
    RPMEMpool* pool = sound(create(large, 1));
    ASSERT_TRUE(succeeded(
        rpmem_persist(pool, header_size, large.size() - header_size, 0, RPMEM_PERSIST_RELAXED)));
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    std::size_t at = 0;
    for (unsigned number = 0; number < 3; ++number) {
        const auto media = part(number);
        const std::size_t skipped = number == 0 ? 0 : header_size;
        const std::size_t share = std::min(media.size() - skipped, large.size() - at);
        const std::size_t own = number == 0 ? header_size : 0;
        EXPECT_EQ(std::memcmp(media.data() + skipped + own, large.data() + at + own, share - own),
                  0)
            << "part " << number;
        EXPECT_EQ(std::memcmp(media.data(), "SAMPLE_1", 8), 0) << "part " << number;
        at += share;
    }
    EXPECT_EQ(at, large.size());
}

TEST_P(Transfer, WithoutHeadersTheFirstByteIsData) {
    write_pool_set("bare.set", "OPTION NOHDRS\n8M %/part0");
    LocalPool small(8 * mebibyte);
    RPMEMpool* pool = sound(create(small, 1, "bare.set", std::nullopt));
    ASSERT_TRUE(succeeded(rpmem_persist(pool, 0, 5000, 0, 0)));
    ASSERT_TRUE(succeeded(rpmem_deep_persist(pool, 1, 10, 0)));
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_EQ(std::memcmp(part(0).data(), small.data(), 5000), 0);

    rpmem_pool_attr attributes;
    std::memset(&attributes, 0xff, sizeof(attributes));
    pool = sound(open(small, 1, "bare.set", &attributes));
    const rpmem_pool_attr none{};
    EXPECT_EQ(std::memcmp(&attributes, &none, sizeof(none)), 0);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_P(Transfer, TheLogNamesThePolicy) {
    ASSERT_TRUE(succeeded(rpmem_close(created())));
    const std::string log = daemon_log();
    const std::string name = GetParam().name;
    EXPECT_TRUE(contains(log, "persistency policy:"));
    EXPECT_TRUE(
        contains(log, name.ends_with("Appliance")
                          ? "    persist method: Appliance Persistency Method"
                          : "    persist method: General Purpose Server Persistency Method"));
    EXPECT_TRUE(contains(log, name == "Msync"               ? "    persist flush: pmem_msync"
                              : name.ends_with("Appliance") ? "    persist flush: none"
                                                            : "    persist flush: pmem_persist"));
    if (name == "Messages") {
        EXPECT_TRUE(contains(log, "    access: by frames only"));
    }
}

} // namespace
} // namespace rpmem::test
