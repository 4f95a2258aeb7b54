// SPDX-License-Identifier: BSD-3-Clause
// Tests the client of a long action with real pipes: whether it is still there, and the list of
// excluded ranges that it sends. The test fails if a malformed, endless or late list is accepted or
// blocks the action, or if the end of the client is missed or reported too early.
#include "common/base/io.hpp"
#include "rpmemd/actions/caller.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace rpmem::target {
namespace {

using namespace std::chrono_literals;
using test::failed;
using Clock = std::chrono::steady_clock;

void send(const Pipe& pipe, const std::string& text) {
    ASSERT_EQ(::write(pipe.write_end.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
}

Result<std::vector<ExceptRange>> read_text(const std::string& text,
                                           std::chrono::milliseconds within = 10s) {
    auto pipe = test::value_of(make_pipe());
    std::jthread sender([&] {
        static_cast<void>(::write(pipe.write_end.get(), text.data(), text.size()));
        pipe.write_end.reset();
    });
    return read_except(pipe.read_end.get(), within);
}

TEST(Except, AreAscendingRangesUpToAnEmptyLine) {
    const auto ranges = test::value_of(read_text("0 4096\n4096 1\n8192 4096\n\n9 9 9\n"));
    ASSERT_EQ(ranges.size(), 3U);
    EXPECT_EQ(ranges[1].begin, 4096U);
    EXPECT_EQ(ranges[1].end, 4097U);
    EXPECT_TRUE(test::value_of(read_text("\n")).empty());
    EXPECT_EQ(test::value_of(read_text("18446744073709551614 1\n\n")).size(), 1U);
}

TEST(Except, AreRefusedIfTheyAreNone) {
    for (const char* line : {"0 0", "1", "1 ", " 1", "a 1", "1 b", "1 2 3", "-1 2", "1  2",
                             "18446744073709551615 1", "18446744073709551616 1"})
        EXPECT_TRUE(failed(read_text(std::string(line) + "\n\n"), EINVAL, "range 1")) << line;
    EXPECT_TRUE(failed(read_text("8 8\n15 1\n\n"), EINVAL, "range 2"));
    EXPECT_TRUE(failed(read_text("8 8\n0 1\n\n"), EINVAL, "range 2"));
}

TEST(Except, EndWithAnEmptyLineAndNotWithTheInput) {
    for (const char* text : {"", "0 1", "0 1\n"})
        EXPECT_TRUE(failed(read_text(text), EINVAL, "expected an empty line")) << text;
    EXPECT_TRUE(failed(read_text(std::string(200000, '1')), EINVAL, "longer than 65536 bytes"));
}

TEST(Except, AreManyAtMost) {
    std::string text;
    for (std::size_t i = 0; i <= max_except_ranges; ++i)
        text += std::to_string(2 * i) + " 1\n";
    EXPECT_TRUE(failed(read_text(text + "\n", 60s), EINVAL, "more than 4194304 excluded ranges"));
}

// The client sends nothing, an incomplete list, or a byte from time to time. The deadline is that
// of the whole list.
TEST(Except, HaveADeadline) {
    for (const std::string text : {"", "0 4096", "0 4096\n"}) {
        const auto pipe = test::value_of(make_pipe());
        send(pipe, text);
        const auto began = Clock::now();
        EXPECT_TRUE(failed(read_except(pipe.read_end.get(), 300ms), ETIMEDOUT, "within 300 ms"))
            << text;
        EXPECT_GE(Clock::now() - began, 300ms);
    }
    const auto pipe = test::value_of(make_pipe());
    const auto began = Clock::now();
    std::jthread sender([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            send(pipe, "0");
            std::this_thread::sleep_for(50ms);
        }
    });
    EXPECT_TRUE(failed(read_except(pipe.read_end.get(), 500ms), ETIMEDOUT, "within 500 ms"));
    EXPECT_LT(Clock::now() - began, 5s);
}

TEST(TheCaller, IsThereUntilItsInputEnds) {
    auto in = test::value_of(make_pipe());
    const auto out = test::value_of(make_pipe());
    const Caller caller(in.read_end.get(), out.write_end.get());
    EXPECT_FALSE(caller.is_gone());
    send(in, "what nobody reads\n");
    EXPECT_FALSE(caller.is_gone());
    send(in, std::string(2000, 'x'));
    in.write_end.reset();
    EXPECT_TRUE(caller.is_gone());
    EXPECT_TRUE(caller.is_gone());
}

TEST(TheCaller, IsThereUntilNobodyReadsItsOutput) {
    const auto in = test::value_of(make_pipe());
    auto out = test::value_of(make_pipe());
    const Caller caller(in.read_end.get(), out.write_end.get());
    EXPECT_FALSE(caller.is_gone());
    out.read_end.reset();
    EXPECT_TRUE(caller.is_gone());
}

// The user runs rpmemd --digest NAME </dev/null.
TEST(TheCaller, MayHaveNoInput) {
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    auto out = test::value_of(make_pipe());
    const Caller caller(null.get(), out.write_end.get());
    EXPECT_FALSE(caller.is_gone());
    out.read_end.reset();
    EXPECT_TRUE(caller.is_gone());
}

} // namespace
} // namespace rpmem::target
