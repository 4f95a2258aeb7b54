// How long a lane may take to connect.
#include "lanes/connection.hpp"
#include "support/bare_target.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>

namespace rpmem {
namespace {

using test::BareTarget;

// Where a target has several addresses, the first lane has a share of the time for each. It shows
// which one is right, and the other lanes have all of the time.
TEST(ConnectionTime, IsTheWholeOfItForLaterLanes) {
    BareTarget target({}); // takes one lane
    struct alignas(4096) Memory {
        std::array<std::byte, 4096> bytes;
    } memory{};
    const ConnectionRequest request{.host = test::loopback,
                                    .port = target.port(),
                                    .pool = memory.bytes.data(),
                                    .pool_size = memory.bytes.size(),
                                    .remote = {},
                                    .messages_only = false,
                                    .lanes = 2,
                                    .messages = {1024, 1, false, false},
                                    .alarm = {-1, [] { return false; }},
                                    .session_fd = -1,
                                    .token = wire::Token{},
                                    .first_time = test::fabric_patience};
    Settings settings = read_settings([](const char*) -> const char* { return nullptr; });
    settings.connect_timeout = std::chrono::milliseconds(321);
    const auto connection = Connection::open(fabric::ProviderKind::tcp, request, settings);
    ASSERT_TRUE(connection) << connection.error().text;
    const auto second = (*connection)->use_lane(1);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ETIMEDOUT) << second.error().text;
    EXPECT_NE(second.error().text.find("321 ms"), std::string::npos) << second.error().text;
}

} // namespace
} // namespace rpmem
