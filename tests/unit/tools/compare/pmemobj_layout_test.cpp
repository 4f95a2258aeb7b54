// SPDX-License-Identifier: BSD-3-Clause
// Tests find_unreplicated(), which finds the bytes that libpmemobj never replicates. The pool is
// made field by field, so that each field can be at its limit or beyond. The test fails if such a
// byte is missed, if data of the program are left out, or if a damaged pool is not refused. Only
// tests/clients/compare.sh shows, with the real libpmemobj, that the offsets are right.
#include "tests/support/expect.hpp"
#include "tools/compare/preparation.hpp"

#include <algorithm>
#include <cstring>

namespace rpmem::compare {
namespace {

constexpr std::uint64_t lanes = 8192;
constexpr std::uint64_t lane_length = 3072;
constexpr std::uint64_t heap = 16384;
constexpr std::uint64_t zone = heap + 1024;
constexpr std::uint64_t headers_of_chunks = zone + 64;
constexpr std::uint64_t chunk_length = 256 << 10;
constexpr std::uint64_t first_chunk = zone + 64 + 65528 * 8;
constexpr std::uint64_t pool_size = first_chunk + 3 * chunk_length;
constexpr Range run_time{6656, 7232};

// A pool with two lanes, and a zone with three chunks.
class PmemobjPool : public testing::Test {
protected:
    PmemobjPool() : data_(pool_size) {
        put(0, "PMEMOBJ");
        put(8, std::uint32_t{6});
        put(5120, lanes);
        put(5128, std::uint64_t{2});
        put(5136, heap);
        put(heap, "MEMORY_HEAP_HDR");
        put(heap + 40, std::uint64_t{chunk_length});
        put(heap + 48, std::uint64_t{65528});
        put(zone, std::uint32_t{0xC3F0A2D2});
        put(zone + 4, std::uint32_t{3});
    }
    template <typename Value>
    void put(std::uint64_t offset, Value value) {
        std::memcpy(data_.data() + offset, &value, sizeof(value));
    }
    void put(std::uint64_t offset, const char* text) {
        std::memcpy(data_.data() + offset, text, std::strlen(text));
    }
    [[nodiscard]] Result<Unreplicated> look() const {
        return find_unreplicated(
            {.read = [this](std::uint64_t offset, std::span<std::byte> buffer) -> Result<> {
                 if (offset + buffer.size() > data_.size())
                     return fail(ErrorClass::bug, ERANGE, "read beyond the end");
                 std::memcpy(buffer.data(), data_.data() + offset, buffer.size());
                 return {};
             },
             .is_hole =
                 [this](Range range) {
                     return hole_.begin <= range.begin && range.end <= hole_.end;
                 },
             .size = data_.size()});
    }
    [[nodiscard]] Ranges found() const { return test::value_of(look()).ranges; }
    // Writes the record that the allocator keeps in the first chunk of free memory.
    void put_record(std::uint64_t chunk, std::uint32_t index, std::uint32_t number = 0,
                    std::uint32_t count = 1, std::uint64_t functions = 0x7f0000001000,
                    std::uint64_t state = 0x7f0000001000 + 6704 % 4096) {
        const std::uint64_t place = first_chunk + chunk * chunk_length + 64;
        put(place, index);
        put(place + 4, number);
        put(place + 8, count);
        put(place + 16, functions);
        put(place + 24, state);
    }

    std::vector<std::byte> data_;
    Range hole_{0, 0};
};

TEST_F(PmemobjPool, HasItsRunTimeFields) {
    const auto all = test::value_of(look());
    EXPECT_EQ(all.ranges, Ranges{run_time});
    EXPECT_EQ(all.needed, pool_size); // the end of its last chunk
    EXPECT_EQ(all.kind, "run-time state of libpmemobj");
}

TEST_F(PmemobjPool, OfAnotherProgramHasNone) {
    for (const char* name : {"PMEMOBK", "PMEMLOG", "PMEMOBJX"}) {
        put(0, name);
        EXPECT_TRUE(found().empty()) << name;
        EXPECT_EQ(test::value_of(look()).needed, 0U);
        EXPECT_EQ(test::value_of(look()).kind, "");
    }
    put(0, "PMEMOBJ");
    put(7, '\0');
    EXPECT_FALSE(found().empty());
    data_.resize(run_time.end - 1);
    EXPECT_TRUE(found().empty());
}

TEST_F(PmemobjPool, OfAnotherLayoutIsNotGuessedAt) {
    for (const std::uint32_t major : {5U, 7U}) {
        put(8, major);
        EXPECT_TRUE(test::failed(look(), EINVAL, "only 6 is supported")) << major;
    }
}

TEST_F(PmemobjPool, HasLogsBehindItsLanes) {
    constexpr std::uint64_t log = first_chunk + 128;
    // The second log of the second lane has a next log, whose offset is not aligned, and that has
    // one more.
    put(lanes + lane_length + 256 + 8, log - 10);
    put(log + 8, log + 640);
    const auto all = test::value_of(look());
    EXPECT_EQ(all.ranges, (Ranges{run_time, {log + 24, log + 32}, {log + 664, log + 672}}));
    put(5128, std::uint64_t{1}); // the second lane does not exist
    EXPECT_EQ(found(), Ranges{run_time});
}

TEST_F(PmemobjPool, WithDamagedLogsIsRefused) {
    const std::uint64_t next = lanes + 8;
    put(next, lanes); // a cycle
    EXPECT_TRUE(test::failed(look(), EINVAL, "a log of its lanes is damaged"));
    put(next, pool_size + 1);
    EXPECT_TRUE(test::failed(look(), EINVAL, "a log of its lanes is damaged"));
    put(next, ~std::uint64_t{0});
    EXPECT_TRUE(test::failed(look(), EINVAL, "a log of its lanes is damaged"));
    put(next, pool_size - 8); // its header would not fit
    EXPECT_TRUE(test::failed(look(), EINVAL, "damaged or truncated"));
}

TEST_F(PmemobjPool, WithLanesBeyondItsEndIsRefused) {
    put(5128, std::uint64_t{65537});
    EXPECT_TRUE(test::failed(look(), EINVAL, "it has 65537 lanes"));
    put(5128, std::uint64_t{2});
    put(5120, pool_size);
    EXPECT_TRUE(test::failed(look(), EINVAL, "damaged or truncated"));
    put(5120, ~std::uint64_t{0} - 16);
    EXPECT_FALSE(look());
}

TEST_F(PmemobjPool, WithAnotherHeapIsRefused) {
    for (const std::uint64_t place : {heap, heap + 14, heap + 40, heap + 48}) {
        data_[place] ^= std::byte{1};
        EXPECT_TRUE(test::failed(look(), EINVAL, "are supported")) << place;
        data_[place] ^= std::byte{1};
    }
    put(5136, pool_size - 8);
    EXPECT_TRUE(test::failed(look(), EINVAL, "damaged or truncated"));
}

TEST_F(PmemobjPool, HasFootersOfItsChunks) {
    put(headers_of_chunks + 8, std::uint16_t{1});
    put(headers_of_chunks + 16, std::uint16_t{2});
    EXPECT_EQ(found(), (Ranges{run_time, {headers_of_chunks + 8, headers_of_chunks + 16}}));
    put(headers_of_chunks + 24, std::uint16_t{1}); // the zone has no fourth chunk
    EXPECT_EQ(found().size(), 2U);
}

TEST_F(PmemobjPool, HasRecordsOfFreeMemory) {
    put_record(1, 1);
    const std::uint64_t place = first_chunk + chunk_length + 64;
    EXPECT_EQ(found(), (Ranges{run_time, {place, place + 32}}));
    hole_ = {place - 64, place + 64}; // the record is in a hole
    EXPECT_EQ(found(), Ranges{run_time});
}

// Data of the program that are similar to a record must be compared.
TEST_F(PmemobjPool, ARecordNamesItsOwnPlaceAndHasAddresses) {
    const auto is_data = [this](auto... fields) {
        put_record(1, fields...);
        return found() == Ranges{run_time};
    };
    constexpr std::uint64_t good = 0x7f0000001000;
    constexpr std::uint64_t state = good + 6704 % 4096;
    EXPECT_TRUE(is_data(2U, 0U, 1U, good, state));
    EXPECT_TRUE(is_data(1U, 1U, 1U, good, state));
    EXPECT_TRUE(is_data(1U, 0U, 0U, good, state));
    EXPECT_TRUE(is_data(1U, 0U, 65529U, good, state));
    EXPECT_TRUE(is_data(1U, 0U, 1U, good + 1, state));
    EXPECT_TRUE(is_data(1U, 0U, 1U, std::uint64_t{8}, state));
    EXPECT_TRUE(is_data(1U, 0U, 1U, std::uint64_t{1} << 56, state));
    EXPECT_TRUE(is_data(1U, 0U, 1U, good, state + 8));
    EXPECT_TRUE(is_data(1U, 0U, 1U, good, std::uint64_t{6704 % 4096}));
    EXPECT_FALSE(is_data(1U, 0U, 65528U, std::uint64_t{4096}, state));
}

TEST_F(PmemobjPool, HasNoMoreZonesThanItsProgramHasUsed) {
    put_record(0, 0);
    put(zone, std::uint32_t{0});
    EXPECT_EQ(found(), Ranges{run_time});
    put(zone, std::uint32_t{0xC3F0A2D2});
    for (const std::uint32_t count : {0U, 65529U}) {
        put(zone + 4, count);
        EXPECT_TRUE(test::failed(look(), EINVAL, "zone 0 of its heap has")) << count;
    }
    put(zone + 4, std::uint32_t{4});
    EXPECT_EQ(test::value_of(look()).needed, pool_size + chunk_length); // more than the pool has
}

// Bytes at the end that libpmemobj cannot use may be missing in the image.
TEST_F(PmemobjPool, MayBeShorterThanItsReplica) {
    const test::TemporaryDirectory directory;
    const std::string file = directory.path() / "image";
    put(24, "0123456789abcdef");
    const auto prepared = [&](std::uint64_t more) {
        std::ofstream(file).write(reinterpret_cast<const char*>(data_.data()),
                                  static_cast<std::streamsize>(data_.size()));
        const auto local = test::value_of(LocalPool::open(file, PoolFile::Use::read));
        return test::value_of(prepare(local, {.name = "REMOTE",
                                              .size = data_.size() + more,
                                              .has_header = true,
                                              .identity = test::value_of(local.side()).identity}));
    };
    const auto shorter = prepared(4096);
    EXPECT_TRUE(shorter.mismatches.empty());
    EXPECT_EQ(shorter.excluded, Ranges{run_time});
    ASSERT_EQ(shorter.not_compared.size(), 3U);
    EXPECT_TRUE(test::contains(shorter.not_compared[1], "576 bytes in 1 places"));
    data_.resize(pool_size - 1);
    EXPECT_EQ(prepared(4096).mismatches.size(), 1U);
}

} // namespace
} // namespace rpmem::compare
