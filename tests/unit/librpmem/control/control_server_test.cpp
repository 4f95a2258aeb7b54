// SPDX-License-Identifier: BSD-3-Clause
// Tests the socket through which rpmemctl steers a program, with the real client, and with clients
// that send nothing, too much, or belong to another user. A thread calls serve() as LinkThread
// does. The test fails if a request is lost or another user's is served, if a client that sends
// nothing keeps others out, or if a socket is left behind or taken from a program that runs.
#include "librpmem/control/control_address.hpp"
#include "librpmem/control/control_client.hpp"
#include "librpmem/control/control_server.hpp"
#include "tests/support/expect.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpmem::initiator {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::failed;
using test::succeeded;
using Clock = std::chrono::steady_clock;

constexpr uid_t other_user = 65534;

class ControlServerTest : public ::testing::Test {
protected:
    ControlServerTest() {
        std::string pattern = fs::temp_directory_path() / "rpmem-control-XXXXXX";
        runtime_ = ::mkdtemp(pattern.data());
        path_ = test::value_of(server_.start(runtime_));
    }
    ~ControlServerTest() override {
        stop_serving();
        server_.stop();
        fs::remove_all(runtime_);
    }
    void serve() {
        thread_ = std::thread([this] {
            while (!is_over_) {
                serve_once();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
    }
    void serve_once() {
        server_.serve([this](const ControlRequest& request) -> Result<> {
            seen_.push_back(request);
            if (request.pool == "unknown")
                return fail(ErrorClass::caller_fault, ENOENT, "no such pool");
            return {};
        });
    }
    void stop_serving() {
        is_over_ = true;
        if (thread_.joinable())
            thread_.join();
    }
    [[nodiscard]] UniqueFd connected() const {
        const auto address = test::value_of(control_address(path_));
        UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        const auto* const name = reinterpret_cast<const sockaddr*>(&address);
        return ::connect(socket.get(), name, sizeof(address)) == 0 ? std::move(socket) : UniqueFd();
    }
    [[nodiscard]] Result<> steer(const ControlRequest& request) const {
        return steer_program(path_, ::getpid(), request);
    }

    fs::path runtime_;
    std::string path_;
    ControlServer server_;
    std::vector<ControlRequest> seen_; // by the thread, until stop_serving()
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
};

const ControlRequest rate_request{.verb = ControlVerb::rate, .rate = 70000, .pool = "t:p"};

TEST_F(ControlServerTest, ARequestIsServedAndAnswered) {
    serve();
    EXPECT_TRUE(succeeded(steer(rate_request)));
    EXPECT_TRUE(failed(steer({.verb = ControlVerb::pause, .rate = 0, .pool = "unknown"}), ENOENT,
                       "no such pool"));
    stop_serving();
    ASSERT_EQ(seen_.size(), 2U);
    EXPECT_EQ(seen_.front(), rate_request);
}

TEST_F(ControlServerTest, OnlyItsUserMayUseIt) {
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    ASSERT_EQ(::stat((runtime_ / "librpmem").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    EXPECT_EQ(path_, runtime_ / "librpmem" / (std::to_string(::getpid()) + ".sock"));
}

// With the modes of the files, another user cannot even connect. So this test removes them first.
TEST_F(ControlServerTest, AnotherUserIsRefused) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    fs::permissions(runtime_, fs::perms::all);
    fs::permissions(runtime_ / "librpmem", fs::perms::all);
    fs::permissions(path_, fs::perms::all);
    serve();
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setgid(other_user) != 0 || ::setuid(other_user) != 0)
            ::_exit(2);
        const UniqueFd socket = connected();
        const auto bytes = encode(rate_request);
        if (!socket || ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
            ::_exit(3);
        std::array<std::byte, control_answer_size> answer{};
        const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
        const auto decoded = decode_control_answer(
            std::span(answer).first(static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
        ::_exit(decoded && decoded->code == EPERM ? 0 : 4);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
    stop_serving();
    EXPECT_TRUE(seen_.empty()) << "the request of another user was served";
}

TEST_F(ControlServerTest, TheClientSendsNothingToAnotherProcess) {
    serve();
    EXPECT_TRUE(failed(steer_program(path_, 1, rate_request), EPERM, "nothing was sent"));
    stop_serving();
    EXPECT_TRUE(seen_.empty());
}

TEST_F(ControlServerTest, AClientThatSendsNothingIsClosedAndKeepsNobodyOut) {
    std::vector<UniqueFd> silent;
    for (std::size_t i = 0; i < ControlServer::max_connections; ++i)
        silent.push_back(connected());
    serve();
    const auto began = Clock::now();
    EXPECT_TRUE(succeeded(steer(rate_request)));
    EXPECT_GE(Clock::now() - began, ControlServer::request_timeout / 2)
        << "the others were not served first, so this test shows nothing";
    std::byte byte{};
    for (const UniqueFd& socket : silent)
        EXPECT_EQ(::recv(socket.get(), &byte, 1, 0), 0);
}

TEST_F(ControlServerTest, AnyBytesAreAnsweredOrClosed) {
    serve();
    for (const std::size_t size : {1U, 8U, 100U, 536U, 537U, 60000U}) {
        const UniqueFd socket = connected();
        const std::vector<std::byte> bytes(size, std::byte{'x'});
        ASSERT_EQ(::send(socket.get(), bytes.data(), size, MSG_NOSIGNAL), ssize_t(size));
        std::array<std::byte, control_answer_size> answer{};
        ASSERT_EQ(::recv(socket.get(), answer.data(), answer.size(), 0), ssize_t(answer.size()));
        EXPECT_EQ(test::value_of(decode_control_answer(answer)).code, std::uint32_t{EBADMSG});
    }
    connected().reset(); // a client that ends at once
    EXPECT_TRUE(succeeded(steer(rate_request)));
    stop_serving();
    EXPECT_EQ(seen_.size(), 1U);
}

// rpmemctl has reported that the program did not answer.
TEST_F(ControlServerTest, ARequestWhoseClientHasEndedHasNoEffect) {
    const auto bytes = encode(rate_request);
    {
        const UniqueFd socket = connected();
        ASSERT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    const UniqueFd patient = connected();
    ASSERT_EQ(::send(patient.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    serve_once();
    EXPECT_EQ(seen_.size(), 1U);
}

// The program has not closed its pools, for example because it was killed.
TEST_F(ControlServerTest, SocketsOfKilledProcessesAreRemoved) {
    const fs::path directory = runtime_ / "librpmem";
    const pid_t killed = ::fork();
    if (killed == 0) {
        ControlServer own;
        static_cast<void>(own.start(runtime_));
        ::_exit(0); // without a destructor
    }
    int status = -1;
    ASSERT_EQ(::waitpid(killed, &status, 0), killed);
    const fs::path stale = directory / (std::to_string(killed) + ".sock");
    ASSERT_TRUE(fs::exists(stale)) << "this test cannot fail";
    std::ofstream(directory / "notes").close();
    ControlServer next;
    // It has the same process ID, and must not take the socket of a program that runs.
    EXPECT_TRUE(failed(next.start(runtime_), EADDRINUSE, "cannot bind"));
    EXPECT_FALSE(fs::exists(stale));
    EXPECT_TRUE(fs::exists(path_));
    EXPECT_TRUE(fs::exists(directory / "notes")) << "only sockets are removed";
    server_.stop();
    EXPECT_FALSE(fs::exists(path_));
    EXPECT_TRUE(succeeded(next.start(runtime_)));
}

TEST_F(ControlServerTest, AChildHasNoServer) {
    serve();
    const pid_t child = ::fork();
    if (child == 0) {
        bool has_socket = false;
        for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
            struct stat status {};
            has_socket |= ::fstat(std::stoi(entry.path().filename()), &status) == 0 &&
                          S_ISSOCK(status.st_mode);
        }
        server_.stop(); // must not remove the socket of the parent
        ::_exit(has_socket ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(fs::exists(path_));
    EXPECT_TRUE(succeeded(steer(rate_request)));
}

TEST_F(ControlServerTest, DirectoriesOfOthersAreRefused) {
    ControlServer other;
    EXPECT_TRUE(failed(other.start(""), ENOENT, "XDG_RUNTIME_DIR is not set"));
    EXPECT_TRUE(failed(other.start(runtime_ / "absent"), ENOENT, "cannot examine"));
    fs::permissions(runtime_ / "librpmem", fs::perms::group_read, fs::perm_options::add);
    EXPECT_TRUE(failed(other.start(runtime_), EPERM, "has mode 740; it must be 700"));
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(runtime_.c_str(), other_user, other_user), 0);
        EXPECT_TRUE(failed(other.start(runtime_), EPERM, "not a directory of this user"));
    }
    const fs::path deep = runtime_ / std::string(100, 'x');
    fs::create_directory(deep);
    EXPECT_TRUE(failed(other.start(deep), ENAMETOOLONG, "at most 107"));
}

} // namespace
} // namespace rpmem::initiator
