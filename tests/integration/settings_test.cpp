// Settings in the environment, each of which needs a process of its own: see CMakeLists.txt.
#include "tests/integration/environment.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rpmem::test {
namespace {

class Settings : public TargetTest {
protected:
    void SetUp() override { write_simple_pool_set(8); }

    void expect_failed(RPMEMpool* pool, int code, const std::string& words) const {
        const int seen = errno;
        EXPECT_EQ(pool, nullptr);
        EXPECT_EQ(seen, code) << rpmem_errormsg();
        EXPECT_NE(std::string(rpmem_errormsg()).find(words), std::string::npos) << rpmem_errormsg();
    }

    LocalPool local{8 * mebibyte};
};

// RPMEM_ENABLE_VERBS=0 RPMEM_ENABLE_TCP=0
TEST_F(Settings, NoProviderIsAllowed) {
    expect_failed(create(local, 1), ENOMEDIUM, "RPMEM_ENABLE_SOCKETS=1");
    EXPECT_EQ(daemon_log(), "");
}

// RPMEM_ENABLE_VERBS=0 RPMEM_ENABLE_TCP=0 RPMEM_ENABLE_SOCKETS=1 FI_PROVIDER=shm
TEST_F(Settings, LibfabricMayNotUseTheProvider) {
    expect_failed(create(local, 1), ENOMEDIUM,
                  "FI_PROVIDER=shm keeps libfabric from its provider sockets");
}

// RPMEM_ENABLE_VERBS=0
TEST_F(Settings, AnOldDaemonHasNoTcp) {
    set_command("unset RPMEMD_OFFER; exec " + std::string(variable("RPMEM_TEST_DAEMON")) +
                " --poolset-dir " + directory().string());
    expect_failed(create(local, 1), ENOMEDIUM, "1.12.1");
    EXPECT_NE(std::string(rpmem_errormsg()).find("RPMEM_ENABLE_SOCKETS=1"), std::string::npos);
}

// RPMEM_SPIN_TIME=0
TEST_F(Settings, LanesThatWaitTakeInWhatTheTargetSays) {
    // More than anything on the way has room for: whoever writes it would wait for us for ever.
    const std::string at = directory().string() + "/";
    set_daemon("", "(until [ -e " + at +
                       "open ]; do sleep 0.01; done; head -c 8388608 /dev/zero |"
                       " tr '\\0' x >&2; echo >" +
                       at + "said) &");
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    std::ofstream(directory() / "open") << "go on";
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    std::uint64_t round = 0;
    for (; !std::filesystem::exists(directory() / "said"); ++round) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "nobody listens";
        std::memset(local.data() + header_size, static_cast<int>(round % 255), 4096);
        ASSERT_EQ(rpmem_persist(pool, header_size, 4096, round % 2, 0), 0) << rpmem_errormsg();
    }
    EXPECT_GT(round, 1U);
    EXPECT_EQ(std::memcmp(part(0).data() + header_size, local.data() + header_size, 4096), 0);
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

// RPMEM_SSH=/nonexistent/ssh
TEST_F(Settings, SshIsMissing) {
    expect_failed(create(local, 1), ENOENT, "/nonexistent/ssh");
    for (const std::string words : {"RPMEM_SSH", "PATH="})
        expect_failed(create(local, 1), ENOENT, words);
    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), -1);
    EXPECT_EQ(errno, ENOENT) << rpmem_errormsg();
}

// RPMEM_SSH=/bin/false
TEST_F(Settings, SshIsNoSsh) {
    expect_failed(create(local, 1), ECONNRESET, "RPMEM_SSH names '/bin/false'");
    expect_failed(create(local, 1), ECONNRESET, variable("RPMEM_TEST_COMMAND_FILE"));
}

// RPMEM_CMD=COMMAND first|COMMAND second
TEST_F(Settings, CommandsAreTakenInTurn) {
    set_command("echo this is $1 >&2; exit 1");
    for (const char* turn : {"first", "second", "first"})
        expect_failed(create(local, 1), ECONNRESET, "this is " + std::string(turn));
    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), -1);
    EXPECT_NE(std::string(rpmem_errormsg()).find("this is second"), std::string::npos)
        << rpmem_errormsg();
}

// RPMEM_CONNECT_TIMEOUT=1000
TEST_F(Settings, ACommandThatSaysNothing) {
    set_command("exec cat >/dev/null"); // ends with its input, and says nothing
    expect_failed(create(local, 1), ETIMEDOUT, "RPMEM_CONNECT_TIMEOUT");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "ssh is left";
}

// RPMEM_OPERATION_TIMEOUT=5000: with a sanitizer, creating takes its time too
TEST_F(Settings, ATargetThatDoesNotAnswer) {
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    stop_daemon();
    EXPECT_EQ(rpmem_persist(pool, 8192, 100, 0, 0), -1);
    EXPECT_EQ(errno, ETIMEDOUT) << rpmem_errormsg();
    EXPECT_NE(std::string(rpmem_errormsg()).find("RPMEM_OPERATION_TIMEOUT"), std::string::npos)
        << rpmem_errormsg();
    EXPECT_EQ(rpmem_persist(pool, 8192, 100, 0, 0), -1);
    EXPECT_EQ(errno, ECONNRESET) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), -1);
    ASSERT_EQ(::kill(daemon_process(), SIGCONT), 0);
    EXPECT_TRUE(part_gets_unlocked(0));
}

// RPMEM_MAX_NLANES=3
TEST_F(Settings, LanesHaveAnUpperBound) {
    RPMEMpool* pool = create(local, 8);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(lanes_in_force, 3U);
    EXPECT_EQ(rpmem_persist(pool, 8192, 100, 3, 0), -1);
    ASSERT_EQ(rpmem_persist(pool, 8192, 100, 2, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_EQ(std::memcmp(part(0).data() + 8192, local.data() + 8192, 100), 0);
}

// RPMEM_ENABLE_TCP=0 RPMEM_ENABLE_SOCKETS=1
TEST_F(Settings, ATargetWithoutSocketsSaysHowToSwitchItOn) {
    set_daemon("--sockets=no");
    expect_failed(create(local, 1), ENOMEDIUM, "\"sockets = yes\" in /etc/rpmemd/rpmemd.conf");
}

// RPMEM_LOG_LEVEL=2 RPMEM_LOG_FILE=DIRECTORY/library-
TEST_F(Settings, ThereIsNoApplianceMethodOverTcp) {
    set_daemon("--persist-apm", "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1");
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_NE(daemon_log().find("persist method: General"), std::string::npos);
    EXPECT_NE(daemon_log().find("persist-apm is set"), std::string::npos);
    const auto bytes = bytes_of(variable("RPMEM_LOG_FILE") + std::to_string(::getpid()));
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    EXPECT_NE(text.find("allows the appliance method (persist-apm)"), std::string::npos) << text;

    EXPECT_EQ(rpmem_remove(target.c_str(), "pool.set", 0), 0) << rpmem_errormsg();
    set_daemon("--persist-apm --persist-general=no", "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1");
    EXPECT_EQ(create(local, 1), nullptr);
    EXPECT_NE(daemon_log().find("only the appliance method"), std::string::npos);
}

// RPMEM_TLS=require
TEST_F(Settings, WithoutTlsThereIsNoLane) {
    set_daemon("");
    expect_failed(create(local, 1), ENOMEDIUM, "RPMEM_TLS=require");
    set_daemon("--tls=off", "unset RPMEMD_OFFER;");
    expect_failed(create(local, 1), EPROTO, "RPMEM_TLS=require");
    set_daemon("--tls=require");
    RPMEMpool* pool = create(local, 2);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_persist(pool, 8192, 100, 1, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_NE(daemon_log().find("provider tcp with TLS"), std::string::npos) << daemon_log();
}

TEST_F(Settings, ATargetThatRequiresTlsSaysSo) {
    set_daemon("--tls=require");
    expect_failed(create(local, 1), ENOMEDIUM, "set RPMEM_TLS=on");
    set_daemon("--tls=require", "unset RPMEMD_OFFER;");
    expect_failed(create(local, 1), EPROTO, "require-hello");
    set_daemon("--require-hello", "unset RPMEMD_OFFER;");
    expect_failed(create(local, 1), EPROTO, "RPMEMD_OFFER");
    set_daemon("--tls=on"); // if both can
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_EQ(daemon_log().find("with TLS"), std::string::npos) << daemon_log();
}

// RPMEM_REQUIRE_HELLO=1 RPMEM_ENABLE_SOCKETS=1
TEST_F(Settings, ADroppedOfferIsNoWayAroundTheHello) {
    set_daemon("--sockets", "unset RPMEMD_OFFER;");
    expect_failed(create(local, 1), EPROTO, "RPMEM_REQUIRE_HELLO=1");
    set_daemon("--sockets");
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
}

TEST_F(Settings, PortsComeFromTheRange) {
    set_daemon("--port-range=47801-47803");
    RPMEMpool* pool = create(local, 3);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_persist(pool, 8192, 100, 2, 0), 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_NE(daemon_log().find("port 4780"), std::string::npos) << daemon_log();
}

// RPMEM_WORK_QUEUE_SIZE=1 RPMEM_SPIN_TIME=0
TEST_F(Settings, TheSmallestQueueWorks) {
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    for (std::size_t i = 0; i < 200; ++i)
        ASSERT_EQ(rpmem_flush(pool, header_size + i * 9000, 9000, 0, i % 2), 0) << rpmem_errormsg();
    ASSERT_EQ(rpmem_drain(pool, 0, 0), 0) << rpmem_errormsg();
    std::vector<std::byte> back(local.size());
    ASSERT_EQ(rpmem_read(pool, back.data(), 0, back.size(), 0), 0) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    EXPECT_EQ(std::memcmp(part(0).data() + header_size, local.data() + header_size, 200 * 9000), 0);
    EXPECT_EQ(back, part(0));
}

// RPMEM_WORK_QUEUE_SIZE=many RPMEM_LOG_LEVEL=4 RPMEM_LOG_FILE=DIRECTORY/library-
TEST_F(Settings, NonsenseIsLoggedAndTheDefaultUsed) {
    RPMEMpool* pool = create(local, 1);
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    EXPECT_EQ(rpmem_close(pool), 0) << rpmem_errormsg();
    const std::string file = variable("RPMEM_LOG_FILE") + std::to_string(::getpid());
    const auto bytes = bytes_of(file);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto first = text.find("RPMEM_WORK_QUEUE_SIZE=many");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("RPMEM_WORK_QUEUE_SIZE=many", first + 1), std::string::npos) << text;
    EXPECT_NE(text.find("50 is used"), std::string::npos) << text;
}

} // namespace
} // namespace rpmem::test
