// SPDX-License-Identifier: BSD-3-Clause
// Tests that a session over tcp gives up the rights that it does not need, and still serves. The
// daemon is the real one, with code that tries to escape when it gets a signal, see
// confinement/confined_daemon.cpp. A system call or a file that the filter or Landlock should
// forbid and does not makes a test fail, and so does a forbidden call that the session needs.
#include "common/base/deadline.hpp"
#include "common/base/unique_fd.hpp"
#include "common/statistics/exposition_file.hpp"
#include "tests/integration/environment.hpp"

#include <sys/socket.h>
#include <sys/un.h>

namespace rpmem::test {
namespace {

constexpr std::chrono::seconds time_to_leave(20);

struct WayOut {
    const char* name;
    int closed; // its errno in a confined session
    int open;   // its errno without confinement
};
// The filter of system calls cannot see which file is opened. EACCES comes from Landlock.
constexpr WayOut ways_out[] = {{"read", EPERM, 0},
                               {"write", EPERM, 0},
                               {"make", EPERM, 0},
                               {"make_unnamed", EPERM, 0},
                               {"list", EACCES, 0},
                               {"reopen", EPERM, 0},
                               {"remove", EPERM, 0},
                               {"remove_at", EACCES, 0},
                               {"remove_directory", EPERM, ENOTDIR},
                               {"rename", EPERM, 0},
                               {"truncate", EPERM, 0},
                               {"chmod", EPERM, 0},
                               {"fork", EPERM, 0},
                               {"clone", EPERM, 0},
                               {"connect", EPERM, 0},
                               {"listen", EPERM, 0},
                               {"send_to", EPERM, ENOTSOCK},
                               {"mmap_code", EPERM, 0},
                               {"mprotect_code", EPERM, 0},
                               {"kill", EPERM, 0},
                               {"tgkill", EPERM, 0},
                               {"signal_by_descriptor", EPERM, 0},
                               // The following are in confinement/hostile_arguments.cpp.
                               {"send_message_to_name", EPERM, 0},
                               {"send_messages_to_name", EPERM, 0},
                               {"send_to_name", EPERM, 0},
                               {"overwrite_log", EPERM, 0},
                               {"overwrite_log_by_high_bits", EPERM, 0},
                               {"other_commands_of_fcntl", EPERM, 0},
                               {"other_attributes", EPERM, 0},
                               {"requests_of_ioctl", EPERM, 0},
                               {"flags_of_open", EPERM, 0},
                               {"make_by_path_flag", ENOENT, ENOENT},
                               {"options_of_sockets", EPERM, 0},
                               {"ends_of_sockets", EPERM, 0},
                               {"memory_with_code", EPERM, 0},
                               {"options_of_prctl", EPERM, 0},
                               {"time_by_name", EPERM, 0},
                               {"remove_with_flags", EPERM, 0},
                               {"rename_at", EPERM, 0}};
// Without confinement, these would end the daemon or damage the machine.
constexpr const char* only_confined[] = {"flags_of_clone", "not_listed"};

class Confinement : public PoolTest {
protected:
    Confinement() {
        denials_are_expected();
        for (const char* name : {"parts", "elsewhere"})
            fs::create_directory(directory() / name);
        write_pool_set("pool.set", "8M %/parts/part0");
        std::ofstream(directory() / "shared.log") << "a line of another session\n";
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, socket_path().c_str(), sizeof(address.sun_path) - 1);
        EXPECT_EQ(
            ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }

    // The next sessions run the daemon with OPTIONS. It tries the ways NAMES on SIGUSR1.
    void set_ways(const std::string& names, const std::string& options,
                  const std::string& variables = "") const {
        std::ofstream(outcomes(), std::ios::trunc).flush();
        std::istringstream list(names);
        for (std::string name; std::getline(list, name, ',');)
            std::ofstream(directory() / "elsewhere" / name) << name;
        set_daemon(options,
                   "RPMEM_TEST_ESCAPES=" + names + " RPMEM_TEST_OUTCOMES=" + outcomes().native() +
                       " RPMEM_TEST_ESCAPE_FILES=" + (directory() / "elsewhere").native() +
                       " RPMEM_TEST_SOCKET=" + socket_path().native() +
                       " RPMEM_TEST_LOG=" + (directory() / "shared.log").native() +
                       " RPMEM_TEST_PORT=" + variable("RPMEM_TEST_SSH_PORT") + " " + variables);
    }

    static std::string all_names() {
        std::string names;
        for (const WayOut& way : ways_out)
            names += (names.empty() ? "" : ",") + std::string(way.name);
        return names;
    }

    // Creates a pool and checks that it works.
    RPMEMpool* serving() {
        RPMEMpool* const pool = created(2);
        expect_served(pool, 1);
        return pool;
    }

    // Persists the whole pool with each lane, and expects the bytes on the target.
    void expect_served(RPMEMpool* pool, std::uint64_t seed) {
        local.fill(seed);
        for (unsigned lane = 0; lane < lanes_in_force; ++lane)
            EXPECT_TRUE(
                succeeded(rpmem_persist(pool, header_size, local.size() - header_size, lane, 0)));
        const auto bytes = bytes_of(directory() / "parts/part0");
        ASSERT_EQ(bytes.size(), local.size());
        EXPECT_EQ(std::memcmp(bytes.data() + header_size, local.data() + header_size,
                              local.size() - header_size),
                  0);
    }

    // Makes the daemon try its ways. Returns the outcomes when it has tried all or has exited.
    [[nodiscard]] std::string try_to_leave() const {
        EXPECT_EQ(::kill(daemon_process(), SIGUSR1), 0);
        const Deadline deadline(time_to_leave);
        std::string text = read_file(outcomes());
        while (!text.ends_with("end\n") && ::kill(daemon_process(), 0) == 0 && !deadline.passed()) {
            // The daemon reports its outcomes only in a file, so this has to poll.
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            text = read_file(outcomes());
        }
        EXPECT_FALSE(deadline.passed());
        return text;
    }

    [[nodiscard]] bool logged(const std::string& text) const {
        return daemon_log().find(text) != std::string::npos;
    }
    [[nodiscard]] fs::path outcomes() const { return directory() / "outcomes"; }
    [[nodiscard]] fs::path socket_path() const { return directory() / "socket"; }
    // Returns how many datagrams of the daemon have reached a socket that is not its own.
    [[nodiscard]] int datagrams() const {
        int count = 0;
        for (char byte = 0; ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 1;)
            ++count;
        return count;
    }

private:
    const UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

std::string expected_lines(int WayOut::*outcome) {
    std::string lines;
    for (const WayOut& way : ways_out)
        lines += std::string(way.name) + ": " + std::to_string(way.*outcome) + "\n";
    return lines + "end\n";
}

TEST_F(Confinement, WaysOutAreClosedAndTheSessionGoesOn) {
    set_ways(all_names(), "");
    RPMEMpool* const pool = serving();
    if (!logged("confined: Landlock"))
        GTEST_SKIP() << "this kernel has no Landlock";
    EXPECT_FALSE(logged("confinement: denied")) << "before anything was tried";
    EXPECT_EQ(try_to_leave(), expected_lines(&WayOut::closed));
    EXPECT_EQ(datagrams(), 0);
    expect_served(pool, 2);
    const rpmem_pool_attr attributes = sample_attributes();
    EXPECT_TRUE(succeeded(rpmem_set_attr(pool, &attributes)));
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    for (const char* call : {"openat", "unlink", "clone", "socket", "sendto", "mmap", "kill"})
        EXPECT_TRUE(logged(std::string("confinement: denied the system call ") + call + " "))
            << call;
    for (const WayOut& way : ways_out)
        EXPECT_EQ(read_file(directory() / "elsewhere" / way.name), way.name);
}

TEST_F(Confinement, NoCallReachesFurtherByItsArguments) {
    std::string names;
    std::string lines;
    for (const char* name : only_confined) {
        names += (names.empty() ? "" : ",") + std::string(name);
        lines += std::string(name) + ": " + std::to_string(EPERM) + "\n";
    }
    set_ways(names, "");
    RPMEMpool* const pool = serving();
    if (!logged("system calls"))
        GTEST_SKIP() << "this kernel has no seccomp";
    EXPECT_EQ(try_to_leave(), lines + "end\n");
    expect_served(pool, 2);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// With --stats-dir, the session may replace its own statistics file. All other ways stay closed.
TEST_F(Confinement, WithStatisticsWaysOutAreClosedAsWell) {
    const fs::path stats = directory() / "stats";
    fs::create_directory(stats);
    set_ways(all_names(), "--stats-dir " + stats.native());
    RPMEMpool* const pool = serving();
    if (!logged("confined: Landlock"))
        GTEST_SKIP() << "this kernel has no Landlock";
    const fs::path file =
        stats / (statistics::stem_of_process("rpmemd", daemon_process()) + ".prom");
    const Deadline deadline(time_to_leave);
    while (!fs::exists(file) && !deadline.passed()) // the thread that writes it sends no signal
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(contains(read_file(file), "rpmemd_session_lanes"));
    EXPECT_FALSE(logged("confinement: denied")) << "before anything was tried";
    EXPECT_EQ(try_to_leave(), expected_lines(&WayOut::closed));
    for (const WayOut& way : ways_out)
        EXPECT_EQ(read_file(directory() / "elsewhere" / way.name), way.name);
    expect_served(pool, 2);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Confinement, WaysOutAreOpenWhereItIsSwitchedOff) {
    set_ways(all_names(), "--confine no");
    RPMEMpool* const pool = serving();
    EXPECT_EQ(try_to_leave(), expected_lines(&WayOut::open));
    EXPECT_EQ(datagrams(), 3);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_FALSE(logged("confine")) << "nothing is said of it";
}

TEST_F(Confinement, WhoRunsOrLooksIntoProgramsIsKilled) {
    for (const char* way : {"exec", "ptrace", "process_vm_readv", "io_uring", "new_namespace"}) {
        set_ways(way, "");
        fs::remove(directory() / "parts/part0");
        RPMEMpool* const pool = serving();
        if (!logged("system calls"))
            GTEST_SKIP() << "this kernel has no seccomp";
        EXPECT_EQ(try_to_leave(), "") << way;
        EXPECT_NE(rpmem_persist(pool, header_size, 64, 0, 0), 0) << way;
        rpmem_close(pool);
    }
}

TEST_F(Confinement, ASessionThatMayNotDeleteItsPoolRemovesNothing) {
    set_ways("", "");
    RPMEMpool* pool = serving();
    ASSERT_TRUE(succeeded(rpmem_close(pool)));
    set_ways("remove_at", "--read-only");
    pool = opened();
    EXPECT_TRUE(succeeded(rpmem_read(pool, local.data(), header_size, 64, 0)));
    if (!logged("system calls"))
        GTEST_SKIP() << "this kernel has no seccomp";
    EXPECT_EQ(try_to_leave(), "remove_at: " + std::to_string(EPERM) + "\nend\n");
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Confinement, LandlockHoldsByItself) {
    set_ways("read,write,make,list,remove,remove_at", "", "RPMEM_TEST_KERNEL_LACKS=seccomp");
    RPMEMpool* const pool = serving();
    if (!logged("confined: Landlock"))
        GTEST_SKIP() << "this kernel has no Landlock";
    const std::string refused = ": " + std::to_string(EACCES) + "\n";
    EXPECT_EQ(try_to_leave(), "read" + refused + "write" + refused + "make" + refused + "list" +
                                  refused + "remove" + refused + "remove_at" + refused + "end\n");
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(
        logged("info: not all is confined: the kernel does not accept the filter of system calls"));
}

TEST_F(Confinement, AKernelWithoutLandlockServesAndTheLogSaysSo) {
    set_ways("read,connect", "", "RPMEM_TEST_KERNEL_LACKS=landlock");
    RPMEMpool* const pool = serving();
    const std::string refused = ": " + std::to_string(EPERM) + "\n";
    EXPECT_EQ(try_to_leave(), "read" + refused + "connect" + refused + "end\n");
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(logged("info: not all is confined: this kernel has no Landlock"));
}

TEST_F(Confinement, ThatIsWantedAndCannotBeHadRefusesTheSession) {
    for (const char* lacking : {"landlock", "seccomp"}) {
        set_ways("", "--confine yes", std::string("RPMEM_TEST_KERNEL_LACKS=") + lacking);
        EXPECT_EQ(create(local, 2), nullptr) << lacking;
        EXPECT_NE(std::strstr(rpmem_errormsg(), "confine = yes"), nullptr) << rpmem_errormsg();
        EXPECT_FALSE(fs::exists(directory() / "parts/part0")) << "the create was not undone";
    }
}

TEST_F(Confinement, ThatIsWantedAndCanBeHadServes) {
    set_ways("read", "--confine yes");
    RPMEMpool* const pool = create(local, 2);
    if (!pool && std::strstr(rpmem_errormsg(), "this kernel has no Landlock"))
        GTEST_SKIP() << rpmem_errormsg();
    ASSERT_NE(pool, nullptr) << rpmem_errormsg();
    expect_served(pool, 3);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

// A session over the provider sockets cannot be confined, because libfabric opens devices and files
// at any time. The environment of this test allows only sockets.
using ConfinementOfSockets = Confinement;

TEST_F(ConfinementOfSockets, LanesThroughLibfabricAreRefusedOrServedWithoutIt) {
    set_ways("", "--confine yes");
    EXPECT_EQ(create(local, 1), nullptr);
    EXPECT_NE(std::strstr(rpmem_errormsg(), "use libfabric"), nullptr) << rpmem_errormsg();
    set_ways("", "");
    RPMEMpool* const pool = serving();
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

} // namespace
} // namespace rpmem::test
