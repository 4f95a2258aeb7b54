// SPDX-License-Identifier: BSD-3-Clause
// Tests the shutdown state in memory and in pools on real files. A replaced function of libpmem2
// simulates an NVDIMM. The test fails if a dirty pool opens on changed devices, if another one is
// refused, if the state is not dirty exactly while the pool is open for writing, if a reader writes
// it, or if its checksum differs.
#include "common/pools/checksum.hpp"
#include "rpmemd/pools/headers/shutdown_state.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <libpmem2.h>

#include <optional>

namespace {
std::optional<std::uint64_t> count_of_the_device;
} // namespace

// Replaces the function of libpmem2. Simulates an NVDIMM while a test has set the count.
extern "C" int pmem2_source_device_usc(const pmem2_source*, std::uint64_t* count) {
    if (!count_of_the_device)
        return PMEM2_E_NOSUPP;
    *count = *count_of_the_device;
    return 0;
}

namespace rpmem::target {
namespace {

constexpr DeviceState then{.unsafe_shutdown_count = 5, .device_uuid = 0x77};

TEST(ShutdownState, RefusesOnlyADirtyPoolOnChangedDevices) {
    const auto dirty = make_shutdown_state(then, true);
    const auto clean = make_shutdown_state(then, false);
    const DeviceState more_shutdowns{.unsafe_shutdown_count = 6, .device_uuid = 0x77};
    const DeviceState other_device{.unsafe_shutdown_count = 5, .device_uuid = 0x78};
    EXPECT_TRUE(succeeded(check_shutdown_state(dirty, then, "p")));
    EXPECT_TRUE(succeeded(check_shutdown_state(clean, then, "p")));
    EXPECT_TRUE(succeeded(check_shutdown_state(clean, more_shutdowns, "p")));
    EXPECT_TRUE(succeeded(check_shutdown_state(clean, other_device, "p")));
    EXPECT_TRUE(failed(check_shutdown_state(dirty, more_shutdowns, "p"), EINVAL, "lost power"));
    EXPECT_TRUE(failed(check_shutdown_state(dirty, other_device, "p"), EINVAL, "lost power"));
}

TEST(ShutdownState, CountsTheShutdownsOfAllDevices) {
    const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    DeviceState sum;
    for (const std::uint64_t count : {3U, 4U}) {
        count_of_the_device = count;
        ASSERT_TRUE(succeeded(add_device_state(sum, file.get(), "a part")));
    }
    count_of_the_device.reset();
    EXPECT_EQ(sum.unsafe_shutdown_count, 7);
}

TEST(ShutdownState, WithABadChecksumItSaysNothing) {
    auto state = make_shutdown_state(then, true);
    state.checksum ^= 1;
    EXPECT_TRUE(succeeded(check_shutdown_state(state, DeviceState{}, "p")));
}

TEST(ShutdownState, ChecksumCoversAllButItself) {
    auto state = make_shutdown_state(then, true);
    const auto checksum = state.checksum;
    state.checksum = 0;
    EXPECT_EQ(shutdown_state_checksum(state), checksum);
    EXPECT_EQ(fletcher_checksum(std::as_bytes(std::span(&state, 1))), checksum);
    state.reserved[38] = 1;
    EXPECT_NE(shutdown_state_checksum(state), checksum);
    EXPECT_EQ(make_shutdown_state({}, false).checksum, 0U);
}

TEST(ShutdownState, DeviceIdsArePaddedByOneToFourZeros) {
    EXPECT_EQ(device_id_checksum(""), 0U);
    EXPECT_EQ(device_id_checksum(std::string("\x01\x02\x03", 3)), 0x0003020100030201U);
    // After a full word there is one of zeros, which increases the high sum once more.
    EXPECT_EQ(device_id_checksum(std::string("\x01\x00\x00\x00", 4)), std::uint64_t{2} << 32 | 1);
}

class ShutdownStatePool : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n");
    }
    [[nodiscard]] PoolHeader on_media() const { return header_of(read_file(part("part0"))); }

    // Makes a pool with STATE in its header.
    void make_pool(const ShutdownState& state, std::uint32_t incompat = 6) {
        auto header = header_of(golden("attr-sds-part0"));
        header.incompat_features = incompat;
        header.shutdown_state = state;
        seal(header);
        make_part("part0", 2 * MiB, bytes_of(header));
    }
};

// The device of the test files has neither a count nor an id, like that of the golden pool.

TEST_F(ShutdownStatePool, IsDirtyWhileThePoolIsOpen) {
    auto pool = value_of(create("pool.set", 0, golden_attributes(6)));
    EXPECT_EQ(on_media().shutdown_state.dirty, 1);
    EXPECT_EQ(on_media().shutdown_state.checksum,
              shutdown_state_checksum(on_media().shutdown_state));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_EQ(on_media().shutdown_state.dirty, 0);

    auto again = value_of(open());
    EXPECT_EQ(on_media().shutdown_state.dirty, 1);
    EXPECT_EQ(again.address()[offsetof(PoolHeader, shutdown_state) + 16], std::byte{1});
    ASSERT_TRUE(succeeded(again.set_attributes(golden_attributes(6, 0x80))));
    EXPECT_EQ(on_media().shutdown_state.dirty, 1) << "new attributes end no session";
    { const Pool moved = std::move(again); } // the destructor closes cleanly
    EXPECT_EQ(on_media().shutdown_state.dirty, 0);
}

TEST_F(ShutdownStatePool, WithoutTheFeatureNothingIsWritten) {
    const auto pool = value_of(create());
    EXPECT_EQ(on_media().shutdown_state.dirty, 0);
}

TEST_F(ShutdownStatePool, ADirtyPoolOnTheSameDevicesOpens) {
    make_pool(make_shutdown_state({}, true));
    EXPECT_TRUE(succeeded(open()));
}

TEST_F(ShutdownStatePool, ADirtyPoolOnChangedDevicesIsRefusedAndLeftAlone) {
    make_pool(make_shutdown_state(then, true));
    const auto before = read_file(part("part0"));
    EXPECT_TRUE(failed(open(), EINVAL, "lost power"));
    EXPECT_EQ(read_file(part("part0")), before);
}

TEST_F(ShutdownStatePool, ACleanPoolOnChangedDevicesStartsAfresh) {
    make_pool(make_shutdown_state(then, false));
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(on_media().shutdown_state.unsafe_shutdown_count, 0U);
    EXPECT_EQ(on_media().shutdown_state.device_uuid, 0U);
}

TEST_F(ShutdownStatePool, ABadChecksumStartsAfresh) {
    auto state = make_shutdown_state(then, true);
    state.checksum ^= 1;
    make_pool(state);
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(on_media().shutdown_state.checksum, 0U);
}

TEST_F(ShutdownStatePool, WithoutTheFeatureTheStateIsIgnored) {
    make_pool(make_shutdown_state(then, true), 2);
    EXPECT_TRUE(succeeded(open()));
    EXPECT_EQ(on_media().shutdown_state.unsafe_shutdown_count, 5U);
}

TEST_F(ShutdownStatePool, AReaderLeavesThePoolAsItIs) {
    for (const bool dirty : {false, true}) {
        make_pool(make_shutdown_state({}, dirty));
        const auto before = read_file(part("part0"));
        const auto changed = std::filesystem::last_write_time(part("part0"));
        options.read_only = true;
        auto pool = value_of(open());
        EXPECT_EQ(read_file(part("part0")), before) << "opening";
        EXPECT_TRUE(
            failed(pool.set_attributes(golden_attributes(6, 0x80)), EACCES, "may only read"));
        EXPECT_TRUE(succeeded(pool.close()));
        EXPECT_EQ(read_file(part("part0")), before) << "closing";
        EXPECT_EQ(std::filesystem::last_write_time(part("part0")), changed);
    }
    make_pool(make_shutdown_state(then, true));
    EXPECT_TRUE(failed(open(), EINVAL, "lost power"));
}

TEST_F(ShutdownStatePool, WithoutChecksum2kTheHeaderStaysValid) {
    auto pool = value_of(create("pool.set", 0, golden_attributes(4)));
    EXPECT_EQ(on_media().checksum, header_checksum(on_media()));
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_EQ(on_media().checksum, header_checksum(on_media()));
    EXPECT_TRUE(succeeded(open()));
}

TEST_F(ShutdownStatePool, ChangedAttributesSwitchItOnAndOff) {
    auto pool = value_of(create());
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(6))));
    EXPECT_EQ(on_media().shutdown_state.dirty, 1);
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(6, 0x80))));
    EXPECT_EQ(on_media().shutdown_state.dirty, 1);
    ASSERT_TRUE(succeeded(pool.set_attributes(golden_attributes(2))));
    EXPECT_EQ(on_media().shutdown_state.dirty, 0);
    ASSERT_TRUE(succeeded(pool.close()));
    EXPECT_EQ(on_media().shutdown_state.dirty, 0);
}

} // namespace
} // namespace rpmem::target
