// Answers on a lane that break the rules: the library's lanes get them from a bare libfabric peer.
#include "base/io.hpp"
#include "lanes/connection.hpp"
#include "lanes/general_purpose.hpp"
#include "support/bare_target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem {
namespace {

using test::BareTarget;
using test::value_of;

constexpr std::size_t pool_size = 4096;
constexpr unsigned messages_in_flight = 4;

Settings settings() {
    Settings settings = read_settings([](const char*) -> const char* { return nullptr; });
    settings.operation_timeout = test::fabric_patience;
    settings.connect_timeout = test::fabric_patience;
    return settings;
}

// What OPERATE on a lane comes to when ANSWER is all that the target says.
template <typename Operate>
int answered_by(std::vector<std::byte> answer, const wire::MessageRules& rules, bool messages_only,
                Operate operate) {
    const BareTarget target(std::move(answer));
    std::vector<std::byte> pool(pool_size);
    const Event lost = value_of(Event::make());
    const auto connection = value_of(Connection::open(fabric::ProviderKind::tcp,
                                                      {test::loopback,
                                                       target.port(),
                                                       pool.data(),
                                                       pool.size(),
                                                       {0, 0},
                                                       messages_only,
                                                       1,
                                                       rules,
                                                       {lost.fd(), [] { return true; }},
                                                       -1,
                                                       std::nullopt},
                                                      settings()));
    return operate(*connection->lane(0));
}

// What a persist of 64 bytes comes to.
int persist_answered_by(std::vector<std::byte> answer, bool counted) {
    return answered_by(std::move(answer),
                       {1024, counted ? messages_in_flight : 1, counted, counted}, false,
                       [](Lane& lane) { return general_purpose::persist(lane, 0, 64, false); });
}

// What a read of the whole pool comes to, by way of windows.
int read_answered_by(std::vector<std::byte> answer, unsigned windows) {
    return answered_by(std::move(answer), {1024, messages_in_flight, true, true, windows}, true,
                       [](Lane& lane) {
                           std::vector<std::byte> destination(pool_size);
                           return lane.read(destination.data(), 0, destination.size());
                       });
}

std::vector<std::byte> bytes_of(const wire::PersistResponse& answer,
                                std::size_t size = sizeof(wire::PersistResponse)) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &answer, std::min(size, sizeof(answer)));
    return bytes;
}

TEST(HostileAnswer, AGoodOneIsTaken) {
    EXPECT_EQ(persist_answered_by(bytes_of({1, 0}), true), 0);
    // The daemon of 1.12.1 leaves the flags as they come.
    for (const std::uint32_t flags : {0U, 2U, 77U})
        EXPECT_EQ(persist_answered_by(bytes_of({flags, 0}), false), 0);
}

TEST(HostileAnswer, CountsWhatWasNotAsked) {
    for (const std::uint32_t count : {0U, 2U, messages_in_flight + 1, 0x80000000U, 0xffffffffU})
        EXPECT_EQ(persist_answered_by(bytes_of({count, 0}), true), EBADMSG) << count;
}

TEST(HostileAnswer, IsForAnotherLane) {
    for (const bool counted : {true, false})
        for (const std::uint32_t lane : {1U, 0xffffffffU})
            EXPECT_EQ(persist_answered_by(bytes_of({1, lane}), counted), EBADMSG) << lane;
}

TEST(HostileAnswer, IsTooShort) {
    for (const bool counted : {true, false})
        for (const std::size_t size : {1U, 4U, 7U})
            EXPECT_EQ(persist_answered_by(bytes_of({1, 0}, size), counted), EBADMSG) << size;
}

// The provider refuses what does not fit the buffer.
TEST(HostileAnswer, IsTooLong) {
    for (const std::size_t size : {9U, 64U})
        EXPECT_NE(persist_answered_by(bytes_of({1, 0}, size), true), 0) << size;
}

TEST(HostileAnswer, ToAFetch) {
    for (const unsigned windows : {1U, 2U, 4U}) {
        EXPECT_EQ(read_answered_by(bytes_of({1, 1}), windows), EBADMSG) << windows;
        EXPECT_EQ(read_answered_by(bytes_of({0, 0}), windows), EBADMSG) << windows;
        EXPECT_EQ(read_answered_by(bytes_of({5, 0}), windows), EBADMSG) << windows;
    }
}

// The fetch is answered, but there is no window to read.
TEST(HostileAnswer, NamesAWindowThatIsNotThere) {
    for (const unsigned windows : {1U, 2U, 4U})
        EXPECT_NE(read_answered_by(bytes_of({1, 0}), windows), 0) << windows;
}

} // namespace
} // namespace rpmem
