#include "common/base/child_process.hpp"
#include "common/base/io.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>

namespace rpmem {
namespace {

constexpr std::chrono::seconds long_enough(20);

bool ends(pid_t process) {
    for (const Deadline deadline(long_enough); !deadline.passed();
         std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        if (::kill(process, 0) != 0 && errno == ESRCH)
            return true;
    return false;
}

// As ssh starts what ProxyCommand says.
TEST(ChildProcess, TakesItsHelpersWithIt) {
    auto pipe = make_pipe();
    ASSERT_TRUE(pipe);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    pid_t helper = 0;
    {
        const auto child = ChildProcess::start({"sh", "-c", "sleep 1000 & echo $!; wait"},
                                               null.get(), pipe->write_end.get(), null.get());
        ASSERT_TRUE(child) << child.error().text;
        std::string number;
        for (char digit = 0; ::read(pipe->read_end.get(), &digit, 1) == 1 && digit != '\n';)
            number += digit;
        ASSERT_EQ(std::from_chars(number.data(), number.data() + number.size(), helper).ec,
                  std::errc());
        ASSERT_EQ(::kill(helper, 0), 0);
    }
    // Somebody else reaps it.
    EXPECT_TRUE(ends(helper)) << helper;
}

} // namespace
} // namespace rpmem
