// SPDX-License-Identifier: BSD-3-Clause
// Tests settings that the library reads from the environment. It reads them once, so each test has
// its own process with the variables in the comment above it, if any, see CMakeLists.txt. Pools and
// daemons are real. A setting that is ignored, or an error text that does not name it, makes a test
// fail.
#include "tests/integration/environment.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::test {
namespace {

using Settings = PoolTest;

// RPMEM_ENABLE_VERBS=0 RPMEM_ENABLE_TCP=0
TEST_F(Settings, NoProviderIsAllowed) {
    EXPECT_TRUE(failed(create(local, 1), ENOMEDIUM, "RPMEM_ENABLE_SOCKETS=1"));
    EXPECT_EQ(daemon_log(), "");
}

// RPMEM_ENABLE_VERBS=0 RPMEM_ENABLE_TCP=0 RPMEM_ENABLE_SOCKETS=1 FI_PROVIDER=shm
TEST_F(Settings, LibfabricMayNotUseTheProvider) {
    EXPECT_TRUE(failed(create(local, 1), ENOMEDIUM,
                       "FI_PROVIDER=shm keeps libfabric from its provider sockets"));
}

// RPMEM_ENABLE_VERBS=0
TEST_F(Settings, AnOldDaemonHasNoTcp) {
    set_command("unset RPMEMD_OFFER; exec " + std::string(variable("RPMEM_TEST_DAEMON")) +
                " --poolset-dir " + directory().string() + " --state-dir " + directory().string() +
                "/state");
    EXPECT_TRUE(failed(create(local, 1), ENOMEDIUM, "1.12.1"));
    EXPECT_TRUE(contains(rpmem_errormsg(), "RPMEM_ENABLE_SOCKETS=1"));
}

// RPMEM_ON_LOSS=wait RPMEM_ENABLE_SOCKETS=1
TEST_F(Settings, AnOldDaemonCannotBeWaitedFor) {
    set_command("unset RPMEMD_OFFER; exec " + std::string(variable("RPMEM_TEST_DAEMON")) +
                " --poolset-dir " + directory().string() + " --state-dir " + directory().string() +
                "/state --sockets");
    EXPECT_TRUE(failed(create(local, 1), ENOTSUP, "RPMEM_ON_LOSS=fail"));
    EXPECT_FALSE(fs::exists(directory() / "part0"));
}

// RPMEM_SPIN_TIME=0
TEST_F(Settings, LanesThatWaitTakeInWhatTheTargetSays) {
    // This is more than all buffers on the way can hold, so the writer blocks until the library
    // reads it.
    const std::string at = directory().string() + "/";
    set_daemon("", "(until [ -e " + at +
                       "open ]; do sleep 0.01; done; head -c 8388608 /dev/zero |"
                       " tr '\\0' x >&2; echo >" +
                       at + "said) &");
    RPMEMpool* pool = created(2);
    std::ofstream(directory() / "open") << "go on";
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    std::uint64_t round = 0;
    for (; !fs::exists(directory() / "said"); ++round) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << "nobody listens";
        std::memset(local.data() + header_size, static_cast<int>(round % 255), 4096);
        ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size, 4096, round % 2, 0)));
    }
    EXPECT_GT(round, 1U);
    expect_replicated(header_size, 4096);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// RPMEM_SSH=/nonexistent/ssh
TEST_F(Settings, SshIsMissing) {
    EXPECT_TRUE(failed(create(local, 1), ENOENT, "/nonexistent/ssh"));
    for (const std::string words : {"RPMEM_SSH", "PATH="})
        EXPECT_TRUE(failed(create(local, 1), ENOENT, words));
    EXPECT_TRUE(failed(remove(), ENOENT));
}

// RPMEM_SSH=/usr/bin/ssh -v
TEST_F(Settings, SshHasArguments) {
    EXPECT_TRUE(failed(create(local, 1), ENOENT, "takes no arguments"));
}

// RPMEM_SSH is a script with the line ends of another system.
TEST_F(Settings, SshIsAScriptWithCarriageReturns) {
    const fs::path script = variable("RPMEM_SSH");
    std::ofstream(script) << "#!/bin/sh\r\nexec ssh \"$@\"\r\n";
    fs::permissions(script, fs::perms::owner_all);
    EXPECT_TRUE(failed(create(local, 1), ENOENT, "carriage return"));
    fs::remove(script);
}

// RPMEM_SSH=/bin/false
TEST_F(Settings, SshIsNoSsh) {
    EXPECT_TRUE(failed(create(local, 1), ECONNRESET, "RPMEM_SSH names '/bin/false'"));
    EXPECT_TRUE(failed(create(local, 1), ECONNRESET, variable("RPMEM_TEST_COMMAND_FILE")));
}

// RPMEM_CMD=COMMAND first|COMMAND second
TEST_F(Settings, CommandsAreTakenInTurn) {
    set_command("echo this is $1 >&2; exit 1");
    for (const char* turn : {"first", "second", "first"})
        EXPECT_TRUE(failed(create(local, 1), ECONNRESET, "this is " + std::string(turn)));
    EXPECT_EQ(remove(), -1);
    EXPECT_TRUE(contains(rpmem_errormsg(), "this is second"));
}

// RPMEM_CONNECT_TIMEOUT=1000
TEST_F(Settings, ACommandThatSaysNothing) {
    set_command("exec cat >/dev/null"); // it prints nothing, and ends when its input ends
    EXPECT_TRUE(failed(create(local, 1), ETIMEDOUT, "RPMEM_CONNECT_TIMEOUT"));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "ssh is left";
}

// RPMEM_OPERATION_TIMEOUT=5000, because creating a pool takes long with a sanitizer.
TEST_F(Settings, ATargetThatDoesNotAnswer) {
    RPMEMpool* pool = created();
    stop_daemon();
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), ETIMEDOUT, "RPMEM_OPERATION_TIMEOUT"));
    EXPECT_TRUE(failed(rpmem_persist(pool, 8192, 100, 0, 0), ECONNRESET));
    EXPECT_EQ(rpmem_close(pool), -1);
    ASSERT_EQ(::kill(daemon_process(), SIGCONT), 0);
    EXPECT_TRUE(part_gets_unlocked(0));

    set_mute_target();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(failed(remove(), ETIMEDOUT, "RPMEM_OPERATION_TIMEOUT"));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    EXPECT_EQ(::kill(daemon_process(), SIGKILL), 0);
}

// RPMEM_MAX_NLANES=3
TEST_F(Settings, LanesHaveAnUpperBound) {
    RPMEMpool* pool = created(8);
    EXPECT_EQ(lanes_in_force, 3U);
    EXPECT_EQ(rpmem_persist(pool, 8192, 100, 3, 0), -1);
    expect_served(pool, 100, 2);
}

// RPMEM_ENABLE_TCP=0 RPMEM_ENABLE_SOCKETS=1
TEST_F(Settings, ATargetWithoutSocketsSaysHowToSwitchItOn) {
    set_daemon("--sockets=no");
    EXPECT_TRUE(
        failed(create(local, 1), ENOMEDIUM, "\"sockets = yes\" in /etc/rpmemd/rpmemd.conf"));
}

// RPMEM_LOG_LEVEL=2 RPMEM_LOG_FILE=DIRECTORY/library-
TEST_F(Settings, ThereIsNoApplianceMethodOverTcp) {
    set_daemon("--persist-apm", "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1");
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    EXPECT_TRUE(contains(daemon_log(), "persist method: General"));
    EXPECT_TRUE(contains(daemon_log(), "persist-apm is set"));
    EXPECT_TRUE(contains(library_log(), "allows the appliance method (persist-apm)"));

    EXPECT_TRUE(succeeded(remove()));
    set_daemon("--persist-apm --persist-general=no", "PMEM_IS_PMEM_FORCE=1 PMEM_NO_FLUSH=1");
    EXPECT_EQ(create(local, 1), nullptr);
    EXPECT_TRUE(contains(daemon_log(), "only the appliance method"));
}

// RPMEM_TLS=require
TEST_F(Settings, WithoutTlsThereIsNoLane) {
    EXPECT_TRUE(failed(create(local, 1), ENOMEDIUM, "RPMEM_TLS=require"));
    set_daemon("--tls=off", "unset RPMEMD_OFFER;");
    EXPECT_TRUE(failed(create(local, 1), EPROTO, "RPMEM_TLS=require"));
    set_daemon("--tls=require");
    expect_served(created(2), 100, 1);
    EXPECT_TRUE(contains(daemon_log(), "provider tcp with TLS"));
}

TEST_F(Settings, ATargetThatRequiresTlsSaysSo) {
    set_daemon("--tls=require");
    EXPECT_TRUE(failed(create(local, 1), ENOMEDIUM, "set RPMEM_TLS=on"));
    set_daemon("--tls=require", "unset RPMEMD_OFFER;");
    EXPECT_TRUE(failed(create(local, 1), EPROTO, "require-hello"));
    set_daemon("--require-hello", "unset RPMEMD_OFFER;");
    EXPECT_TRUE(failed(create(local, 1), EPROTO, "RPMEMD_OFFER"));
    set_daemon("--tls=on"); // it uses TLS only if the library offers it
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    EXPECT_FALSE(contains(daemon_log(), "with TLS"));
}

// RPMEM_REQUIRE_HELLO=1 RPMEM_ENABLE_SOCKETS=1
TEST_F(Settings, ADroppedOfferIsNoWayAroundTheHello) {
    set_daemon("--sockets", "unset RPMEMD_OFFER;");
    EXPECT_TRUE(failed(create(local, 1), EPROTO, "RPMEM_REQUIRE_HELLO=1"));
    set_daemon("--sockets");
    EXPECT_TRUE(succeeded(rpmem_close(created())));
}

TEST_F(Settings, PortsComeFromTheRange) {
    set_daemon("--port-range=47801-47803");
    expect_served(created(3), 100, 2);
    EXPECT_TRUE(contains(daemon_log(), "port 4780"));
}

// RPMEM_WORK_QUEUE_SIZE=1 RPMEM_SPIN_TIME=0
TEST_F(Settings, TheSmallestQueueWorks) {
    RPMEMpool* pool = created();
    for (std::size_t i = 0; i < 200; ++i)
        ASSERT_TRUE(succeeded(rpmem_flush(pool, header_size + i * 9000, 9000, 0, i % 2)));
    ASSERT_TRUE(succeeded(rpmem_drain(pool, 0, 0)));
    std::vector<std::byte> back(local.size());
    ASSERT_TRUE(succeeded(rpmem_read(pool, back.data(), 0, back.size(), 0)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    expect_replicated(header_size, 200 * 9000);
    EXPECT_EQ(back, part(0));
}

// RPMEM_WORK_QUEUE_SIZE=many RPMEM_LOG_LEVEL=4 RPMEM_LOG_FILE=DIRECTORY/library-
TEST_F(Settings, NonsenseIsLoggedAndTheDefaultUsed) {
    EXPECT_TRUE(succeeded(rpmem_close(created())));
    const std::string text = library_log();
    const auto first = text.find("RPMEM_WORK_QUEUE_SIZE=many");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find("RPMEM_WORK_QUEUE_SIZE=many", first + 1), std::string::npos) << text;
    EXPECT_TRUE(contains(text, "50 is used"));
}

} // namespace
} // namespace rpmem::test
