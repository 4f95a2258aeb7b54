// SPDX-License-Identifier: BSD-3-Clause
// Tests a pool of five parts while SIGKILL ends the real daemon at random times during SET_ATTR.
// The next daemon opens the pool. The test fails if that is refused, if the pool has attributes of
// two versions, or a version older than an acknowledged one or newer than any that was sent. It
// also fails if the daemon keeps no copy of the headers in state-dir.
#include "rpmemd/pools/headers/header_copy.hpp"
#include "tests/hostile/hostile_session.hpp"

#include <cstdlib>
#include <random>

namespace rpmem::hostile {
namespace {

constexpr const char* five_parts = "five.set";
constexpr std::chrono::seconds time_of_test(2);
constexpr std::size_t fewest_kills = 12;      // even if a busy machine takes longer
constexpr std::size_t requests_at_once = 200; // they fit into a pipe
constexpr int max_life_ms = 25;               // limit of the time between SET_ATTR and SIGKILL
constexpr std::size_t leading_status = wire::initial_status_size;
constexpr std::size_t attributes_at = 44; // offset in the response to OPEN

rpmem_pool_attr attributes_of_version(std::uint32_t version) {
    auto attributes = test_attributes();
    attributes.major = version;
    std::memset(attributes.uuid, static_cast<int>(version % 251 + 1), sizeof(attributes.uuid));
    std::memset(attributes.user_flags, static_cast<int>(version % 241 + 1),
                sizeof(attributes.user_flags));
    return attributes;
}

class Kills : public HostileTest {
protected:
    void SetUp() override {
        std::ofstream file(directory_.pool_sets() / five_parts);
        file << "PMEMPOOLSET\n";
        for (unsigned number = 0; number < 5; ++number)
            file << "2M " << (directory_.path() / fmt::format("five.{}", number)).native() << '\n';
        file.close();
        Log log;
        target::PoolOptions options;
        options.poolset_dir = directory_.pool_sets();
        ASSERT_TRUE(
            target::create_pool(options, five_parts, part_size, attributes_of_version(0), log));
    }
    // Opens the pool and returns the version of its attributes. They must all be of that version.
    static std::uint32_t open_version(DaemonProcess& daemon) {
        const auto request = encode(open_request(five_parts));
        EXPECT_TRUE(daemon.send(request));
        const auto answer = daemon.receive(size_of_first_answer(request));
        if (answer.size() != size_of_first_answer(request) ||
            field_of(answer, leading_status, 4) != 0) // the status of the response
            throw std::runtime_error("the pool does not open");
        const std::size_t at = leading_status + attributes_at;
        const auto version = static_cast<std::uint32_t>(
            field_of(answer, at + sizeof(rpmem_pool_attr::signature), 4));
        const auto expected = encode(wire::SetAttributesRequest{attributes_of_version(version)});
        EXPECT_TRUE(std::equal(answer.begin() + std::ptrdiff_t(at), answer.end(),
                               expected.begin() + wire::request_header_size))
            << "attributes of two versions";
        return version;
    }
};

TEST_F(Kills, WhileAttributesChangeLeaveAllOfTheOldOrOfTheNew) {
    // To repeat a run, set RPMEM_TEST_SEED to the seed in its output.
    const char* const given = std::getenv("RPMEM_TEST_SEED");
    const unsigned long seed =
        given ? std::strtoul(given, nullptr, 10) : static_cast<unsigned long>(::getpid());
    SCOPED_TRACE(fmt::format("RPMEM_TEST_SEED={}", seed));
    fmt::print("RPMEM_TEST_SEED={}\n", seed);
    std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
    std::uint32_t answered = 0; // the last acknowledged version
    std::uint32_t sent = 0;
    std::size_t kills = 0;
    const Deadline deadline(time_of_test);
    for (; (kills < fewest_kills || !deadline.passed()) && !HasFailure(); ++kills) {
        DaemonProcess daemon = started();
        const std::uint32_t found = open_version(daemon);
        EXPECT_GE(found, answered);
        EXPECT_LE(found, sent);
        wire::Bytes requests;
        for (std::size_t i = 1; i <= requests_at_once; ++i) {
            const auto request = encode(wire::SetAttributesRequest{
                attributes_of_version(found + static_cast<std::uint32_t>(i))});
            requests.insert(requests.end(), request.begin(), request.end());
        }
        ASSERT_TRUE(daemon.send(requests));
        sent = found + requests_at_once;
        std::this_thread::sleep_for(std::chrono::microseconds(
            std::uniform_int_distribution<int>(0, max_life_ms * 1000)(random)));
        daemon.signal(SIGKILL);
        const auto answers = daemon.wait().output;
        EXPECT_EQ(answers.size() % wire::response_header_size, 0U);
        answered = found + static_cast<std::uint32_t>(answers.size() / wire::response_header_size);
    }
    DaemonProcess daemon = started();
    EXPECT_GE(open_version(daemon), answered);
    const auto state_dir = directory_.path() / ".local/state/rpmemd";
    const auto copy = target::HeaderCopyFile::name_for(directory_.pool_sets() / five_parts);
    EXPECT_TRUE(std::filesystem::exists(state_dir / copy)) << "headers are written without a copy";
    RecordProperty("kills", static_cast<int>(kills));
}

} // namespace
} // namespace rpmem::hostile
