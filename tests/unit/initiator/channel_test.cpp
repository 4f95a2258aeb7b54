#include "common/base/io.hpp"
#include "librpmem/session/channel.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace rpmem::initiator {
namespace {

// The error text of a channel whose command has written TEXT to its standard error.
std::string error_text_after(std::string_view text) {
    auto pipe = make_pipe();
    EXPECT_TRUE(pipe && write_fully(pipe->write_end.get(), std::as_bytes(std::span(text)),
                                    Deadline(std::chrono::seconds(1))));
    Channel channel({UniqueFd(), UniqueFd(), std::move(pipe->read_end)}, nullptr);
    channel.collect_error_text();
    return channel.error_text();
}

TEST(Channel, LinesOfTheErrorTextAreJoined) {
    EXPECT_EQ(error_text_after("one\ntwo \xc3\xa4\n\n"), "one; two \xc3\xa4");
    EXPECT_EQ(error_text_after(""), "");
}

// Found by the fuzz target session: a delete character was let through.
TEST(Channel, TheErrorTextCommandsNoTerminal) {
    EXPECT_EQ(error_text_after("a\x1b[2Jb\r\x07"
                               "c\x7f"
                               "d"),
              "a[2Jbcd");
}

} // namespace
} // namespace rpmem::initiator
