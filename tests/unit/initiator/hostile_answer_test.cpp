// Answers on a lane of protocol 0.1 that break the rules: the library's lanes get them from a bare
// libfabric peer.
#include "common/base/io.hpp"
#include "common/wire/persist_message.hpp"
#include "librpmem/lanes/fabric_lanes.hpp"
#include "tests/support/bare_target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::initiator {
namespace {

using test::BareTarget;
using test::value_of;

constexpr std::size_t pool_size = 4096;

Settings settings() {
    Settings settings = read_settings([](const char*) -> const char* { return nullptr; });
    settings.operation_timeout = test::fabric_patience;
    settings.connect_timeout = test::fabric_patience;
    return settings;
}

// What a persist of 64 bytes comes to when ANSWER is all that the target says.
int persist_answered_by(std::vector<std::byte> answer) {
    const BareTarget target(std::move(answer));
    std::vector<std::byte> pool(pool_size);
    const Event lost = value_of(Event::make());
    const auto lanes = value_of(FabricLanes::open({.kind = fabric::ProviderKind::sockets,
                                                   .host = test::loopback,
                                                   .port = target.port(),
                                                   .pool = pool.data(),
                                                   .pool_size = pool.size(),
                                                   .remote = fabric::RemoteAddress{0, 0},
                                                   .method = wire::PersistMethod::general_purpose,
                                                   .lanes = 1,
                                                   .watch = {lost.fd(), [] { return true; }},
                                                   .session_fd = -1},
                                                  settings(), test::fabric_patience));
    return lanes->lane(0)->persist(0, 64, false);
}

std::vector<std::byte> bytes_of(const wire::PersistResponse& answer,
                                std::size_t size = sizeof(wire::PersistResponse)) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &answer, std::min(size, sizeof(answer)));
    return bytes;
}

TEST(HostileAnswer, AGoodOneIsTaken) {
    // The daemon of 1.12.1 leaves the flags as they come.
    for (const std::uint32_t flags : {0U, 2U, 77U})
        EXPECT_EQ(persist_answered_by(bytes_of({flags, 0})), 0);
}

TEST(HostileAnswer, IsForAnotherLane) {
    for (const std::uint32_t lane : {1U, 0xffffffffU})
        EXPECT_EQ(persist_answered_by(bytes_of({1, lane})), EBADMSG) << lane;
}

TEST(HostileAnswer, IsTooShort) {
    for (const std::size_t size : {1U, 4U, 7U})
        EXPECT_EQ(persist_answered_by(bytes_of({1, 0}, size)), EBADMSG) << size;
}

// The provider refuses what does not fit the buffer.
TEST(HostileAnswer, IsTooLong) {
    for (const std::size_t size : {9U, 64U})
        EXPECT_NE(persist_answered_by(bytes_of({1, 0}, size)), 0) << size;
}

} // namespace
} // namespace rpmem::initiator
