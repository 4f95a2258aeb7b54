// A pipe delivers data in pieces.
#include "common/base/io.hpp"

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rpmem {
namespace {

constexpr std::chrono::seconds patience(20);

// Waits until the reader has what was written.
bool is_taken(int fd) {
    for (const Deadline deadline(patience); !deadline.passed(); std::this_thread::yield()) {
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

// What read_fully() makes of these pieces, each written when the one before was taken, and then
// the end.
Outcome read_pieces(std::initializer_list<std::string_view> pieces, std::size_t size) {
    auto pipe = make_pipe();
    EXPECT_TRUE(pipe);
    Outcome outcome;
    std::array<char, 64> place{};
    std::thread reader([&] {
        outcome.count =
            read_fully(pipe->read_end.get(), std::as_writable_bytes(std::span(place)).first(size),
                       Deadline(patience));
    });
    for (const auto piece : pieces) {
        EXPECT_EQ(::write(pipe->write_end.get(), piece.data(), piece.size()),
                  static_cast<ssize_t>(piece.size()));
        EXPECT_TRUE(is_taken(pipe->write_end.get()));
    }
    pipe->write_end.reset();
    reader.join();
    outcome.text.assign(place.data(), std::min(size, outcome.count.value_or(0)));
    return outcome;
}

TEST(ReadFully, WaitsForEveryPiece) {
    const Outcome all = read_pieces({"rep", "li", "cation"}, 11);
    ASSERT_TRUE(all.count) << all.count.error().text;
    EXPECT_EQ(all.text, "replication");
}

TEST(ReadFully, TellsHowMuchCameBeforeTheEnd) {
    const Outcome cut = read_pieces({"rep", "li"}, 11);
    ASSERT_TRUE(cut.count) << cut.count.error().text;
    EXPECT_EQ(cut.text, "repli");
}

TEST(ReadFully, GivesUpInTime) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    ASSERT_EQ(::write(pipe->write_end.get(), "re", 2), 2);
    std::array<std::byte, 8> place{};
    const auto read =
        read_fully(pipe->read_end.get(), place, Deadline(std::chrono::milliseconds(50)));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ETIMEDOUT) << read.error().text;
}

// Of a pipe, which is full sooner or later, and of a socket.
TEST(WriteFully, GivesUpInTime) {
    auto pipe = make_pipe();
    auto sockets = make_socket_pair();
    ASSERT_TRUE(pipe && sockets);
    const std::vector<std::byte> more_than_fits(std::size_t{16} << 20);
    for (const int fd : {pipe->write_end.get(), sockets->ours.get()}) {
        const auto written =
            write_fully(fd, more_than_fits, Deadline(std::chrono::milliseconds(50)));
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().code, ETIMEDOUT) << written.error().text;
    }
}

} // namespace
} // namespace rpmem
