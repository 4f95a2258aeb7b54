// SPDX-License-Identifier: BSD-3-Clause
// Tests a FrameWorker whose thread is that of the test, with a real group and a real connection
// over a socket pair. The first wait of the group does not look at the event that announces a
// lane, because it only polls. The test fails if such a lane ends without the reason.
#include "common/transport/tcp/frame_connection.hpp"
#include "common/transport/tcp/socket_group.hpp"
#include "rpmemd/lanes/frame_worker.hpp"
#include "tests/support/expect.hpp"

#include <sys/socket.h>

namespace rpmem::target {
namespace {

TEST(FrameWorker, ALaneThatHasJustArrivedIsToldWhyTheWorkerEnds) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd peer(ends[1]);
    auto worker = test::value_of(
        FrameWorker::make(std::make_unique<transport::SocketGroup>(std::chrono::seconds(10), 4096),
                          [](unsigned, const std::string&, const std::string&) {}));
    Medium medium;
    std::byte pool[4096]{};
    worker->add(std::make_unique<ServedLane>(
        0,
        std::make_unique<transport::FrameConnection>(
            std::make_unique<transport::SocketStream>(UniqueFd(ends[0]),
                                                      transport::PieceCall::writev),
            "lane 0"),
        wire::LaneTerms{.credits = {.bytes = 65536, .payload = 16384, .frames = 16, .reads = 4},
                        .pool_size = sizeof(pool)},
        pool, medium, *worker->counters()));
    worker->end("the reason");
    while (worker->turn()) {
    }
    std::array<std::byte, wire::frame_header_size> bytes{};
    ASSERT_EQ(::recv(peer.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()))
        << "the lane ended without a word";
    const auto header = wire::decode_frame_header(bytes);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, wire::FrameType::error);
    std::string text(header->length, '\0');
    EXPECT_EQ(::recv(peer.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(text, "the reason");
}

} // namespace
} // namespace rpmem::target
