// SPDX-License-Identifier: BSD-3-Clause
// Tests read_fully() and write_fully() on real pipes and sockets, and ChildProcess with a real
// shell. The test fails if read_fully() returns before its buffer is full or the input ends, if
// either function ignores its deadline, or if the destructor of ChildProcess leaves a process
// running that the child has started.
#include "common/base/child_process.hpp"
#include "common/base/io.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace rpmem {
namespace {

constexpr std::chrono::seconds io_timeout(20);

// Waits until the reader has read everything from the pipe FD.
bool is_taken(int fd) {
    for (const Deadline deadline(io_timeout); !deadline.passed(); std::this_thread::yield()) {
        int left = 0;
        if (::ioctl(fd, FIONREAD, &left) == 0 && left == 0)
            return true;
    }
    return false;
}

struct Outcome {
    Result<std::size_t> count = 0;
    std::string text;
};

// Writes PIECES to a pipe and closes it. Each piece is written after read_fully() has read the one
// before, so that every piece is a read(2) of its own.
Outcome read_pieces(std::initializer_list<std::string_view> pieces, std::size_t size) {
    auto pipe = test::value_of(make_pipe());
    Outcome outcome;
    std::array<char, 64> place{};
    std::thread reader([&] {
        outcome.count =
            read_fully(pipe.read_end.get(), std::as_writable_bytes(std::span(place)).first(size),
                       Deadline(io_timeout));
    });
    for (const auto piece : pieces) {
        EXPECT_EQ(::write(pipe.write_end.get(), piece.data(), piece.size()),
                  static_cast<ssize_t>(piece.size()));
        EXPECT_TRUE(is_taken(pipe.write_end.get()));
    }
    pipe.write_end.reset();
    reader.join();
    outcome.text.assign(place.data(), std::min(size, outcome.count.value_or(0)));
    return outcome;
}

TEST(ReadFully, WaitsForEveryPieceAndTellsHowMuchCameBeforeTheEnd) {
    for (const bool is_whole : {true, false}) {
        const Outcome outcome =
            is_whole ? read_pieces({"rep", "li", "cation"}, 11) : read_pieces({"rep", "li"}, 11);
        ASSERT_TRUE(test::succeeded(outcome.count));
        EXPECT_EQ(outcome.text, is_whole ? "replication" : "repli");
    }
}

TEST(ReadFully, GivesUpInTime) {
    auto pipe = test::value_of(make_pipe());
    ASSERT_EQ(::write(pipe.write_end.get(), "re", 2), 2);
    std::array<std::byte, 8> place{};
    EXPECT_TRUE(test::failed(
        read_fully(pipe.read_end.get(), place, Deadline(std::chrono::milliseconds(50))),
        ETIMEDOUT));
}

// A pipe and a socket need different code, because only the socket supports MSG_DONTWAIT.
TEST(WriteFully, GivesUpInTime) {
    const auto pipe = test::value_of(make_pipe());
    const auto sockets = test::value_of(make_socket_pair());
    const std::vector<std::byte> more_than_fits(std::size_t{16} << 20);
    for (const int fd : {pipe.write_end.get(), sockets.ours.get()}) {
        EXPECT_TRUE(test::failed(
            write_fully(fd, more_than_fits, Deadline(std::chrono::milliseconds(50))), ETIMEDOUT));
    }
}

// An orphan that its new parent does not reap stays a zombie, for example in a container without an
// init process.
bool is_zombie(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    // Unlike an iterator, this does not throw if the process ends before it is read.
    std::string line;
    std::getline(file, line);
    return line.find(") Z ") != std::string::npos;
}

bool ends(pid_t process) {
    for (const Deadline deadline(io_timeout); !deadline.passed();
         std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        if ((::kill(process, 0) != 0 && errno == ESRCH) || is_zombie(process))
            return true;
    return false;
}

TEST(Files, AreKnownAgainByTheirNames) {
    const test::TemporaryDirectory directory;
    const std::string path = (directory.path() / "file").string();
    const auto make = [&] {
        return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    const UniqueFd file = make();
    const UniqueFd parent(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(is_file_at(file.get(), AT_FDCWD, path));
    EXPECT_TRUE(is_file_at(file.get(), parent.get(), "file"));
    ASSERT_EQ(::symlink("file", (directory.path() / "link").c_str()), 0);
    EXPECT_FALSE(is_file_at(file.get(), parent.get(), "link"));
    ASSERT_EQ(::unlink(path.c_str()), 0);
    EXPECT_FALSE(is_file_at(file.get(), parent.get(), "file"));
    const UniqueFd other = make();
    EXPECT_FALSE(is_file_at(file.get(), parent.get(), "file"));
    EXPECT_TRUE(is_file_at(other.get(), parent.get(), "file"));
}

// The helper stands for the process that ssh(1) starts for ProxyCommand.
TEST(ChildProcess, TakesItsHelpersWithIt) {
    const auto pipe = test::value_of(make_pipe());
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    pid_t helper = 0;
    {
        const auto child =
            test::value_of(ChildProcess::start({"sh", "-c", "sleep 1000 & echo $!; wait"},
                                               null.get(), pipe.write_end.get(), null.get()));
        std::string number;
        for (char digit = 0; ::read(pipe.read_end.get(), &digit, 1) == 1 && digit != '\n';)
            number += digit;
        ASSERT_EQ(std::from_chars(number.data(), number.data() + number.size(), helper).ec,
                  std::errc());
        ASSERT_EQ(::kill(helper, 0), 0);
    }
    EXPECT_TRUE(ends(helper)) << helper;
}

} // namespace
} // namespace rpmem
