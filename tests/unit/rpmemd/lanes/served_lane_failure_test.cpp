// SPDX-License-Identifier: BSD-3-Clause
// Tests a ServedLane after the medium has failed in a part that another lane uses. The frames come
// from a stub connection, and the recorder makes pmem_msync() fail. The test fails if the lane
// still acknowledges ranges of an intact part, because the initiator would then continue with a
// damaged pool.
#include "rpmemd/lanes/served_lane.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/support/stub_connection.hpp"
#include "tests/unit/lanes/guarded_pool.hpp"

namespace rpmem::target {
namespace {

using test::Recorder;
using test::StubConnection;
using wire::FrameHeader;
using wire::FrameType;

constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 16 * 1024, .frames = 16, .reads = 4},
    .pool_size = pool_size};

class ServedLaneOnAFailedMedium : public testing::Test {
protected:
    ServedLaneOnAFailedMedium() { Recorder::instance().reset(); }
    ~ServedLaneOnAFailedMedium() override { Recorder::instance().reset(); }

    // Serves a write to the part on persistent memory, which cannot fail.
    bool serve_persist() {
        connection_->deliver({{.type = FrameType::write,
                               .flags = wire::frame_flag::answer_wanted,
                               .length = 64,
                               .offset = 0,
                               .number = ++number_},
                              std::vector<std::byte>(64, std::byte{1})});
        return lane_.serve();
    }
    [[nodiscard]] std::size_t acks() const {
        return static_cast<std::size_t>(
            std::ranges::count(connection_->posted(), FrameType::ack, &FrameHeader::type));
    }
    // Makes a persist of another lane fail.
    void fail_the_other_part() {
        Recorder::instance().fail({.call = "pmem_msync", .path = "", .number = 0, .code = ENOSPC});
        ASSERT_EQ(pool_.medium().persist(pool_.begin() + pool_size / 2, 64), ENOSPC);
    }

    GuardedPool pool_{pmem_and_file};
    WorkerCounters counters_;
    StubConnection* connection_ = new StubConnection; // owned by the lane
    ServedLane lane_{0,
                     std::unique_ptr<transport::LaneConnection>(connection_),
                     terms,
                     pool_.begin(),
                     pool_.medium(),
                     counters_};
    std::uint64_t number_ = 0;
};

TEST_F(ServedLaneOnAFailedMedium, AcknowledgesNothingMore) {
    ASSERT_TRUE(serve_persist());
    ASSERT_EQ(acks(), 1U);
    fail_the_other_part();
    EXPECT_FALSE(serve_persist());
    EXPECT_EQ(acks(), 1U);
    EXPECT_EQ(lane_.error_text(), pool_.medium().failure_text());
}

} // namespace
} // namespace rpmem::target
