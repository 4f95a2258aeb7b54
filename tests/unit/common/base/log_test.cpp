// SPDX-License-Identifier: BSD-3-Clause
// Tests Log on real files, a FIFO, a pipe and standard error, and LineLimit with invented times.
// The test fails if a log follows a link or writes to a file that another user may have placed, if
// bytes of a peer begin a new line, if one kind of line hides others, or if a log to standard error
// writes to another file, raises SIGPIPE or blocks.
#include "common/base/line_limit.hpp"
#include "common/base/log.hpp"
#include "common/base/unique_fd.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace rpmem::initiator {
namespace {

using namespace std::chrono_literals;

class LogFile : public testing::Test {
protected:
    [[nodiscard]] static std::size_t lines_of(const std::string& text) {
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }

    const test::TemporaryDirectory temporary_;
    const std::filesystem::path directory_ = temporary_.path();
    const std::filesystem::path file_ = directory_ / "log";
};

TEST_F(LogFile, IsAppendedToAndNotForEverybody) {
    const mode_t before = ::umask(0);
    for (const char* word : {"first", "second"}) {
        const auto log = test::value_of(Log::to_file(file_, LogLevel::error));
        log.error("the {} line", word);
        log.warning("beyond the level");
    }
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(file_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0640U);
    const std::string text = test::read_file(file_);
    EXPECT_EQ(lines_of(text), 2U) << text;
    EXPECT_LT(text.find("error: the first line\n"), text.find("error: the second line\n")) << text;
}

TEST_F(LogFile, NoDirectoryIsMadeAndNoLinkFollowed) {
    const auto below = directory_ / "missing" / "log";
    auto log = Log::to_file(below, LogLevel::error);
    ASSERT_TRUE(test::failed(log, ENOENT));
    EXPECT_EQ(log.error().text, "cannot open the log file " + below.native() +
                                    ": its directory does not exist; make it, or name another "
                                    "file");
    EXPECT_FALSE(std::filesystem::exists(below.parent_path()));

    std::filesystem::create_symlink(directory_ / "victim", file_);
    log = Log::to_file(file_, LogLevel::error);
    ASSERT_TRUE(test::failed(log, ELOOP));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "victim"));
}

TEST_F(LogFile, IsNoFifoAndNoDirectory) {
    ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
    const UniqueFd reader(::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(test::failed(Log::to_file(file_, LogLevel::error), EINVAL, "not a regular file"));
    EXPECT_FALSE(Log::to_file(directory_, LogLevel::error));
    EXPECT_TRUE(test::succeeded(Log::to_file("/dev/null", LogLevel::error)));
}

// Another user may place files in a directory that is writable for all, such as /tmp.
TEST_F(LogFile, OfOthersInASharedDirectoryIsRefused) {
    const auto shared = directory_ / "shared";
    std::filesystem::create_directory(shared);
    ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
    EXPECT_TRUE(test::succeeded(Log::to_file(shared / "log", LogLevel::error)));
    std::ofstream(file_) << "precious";
    std::filesystem::create_hard_link(file_, shared / "second_name");
    EXPECT_TRUE(test::failed(Log::to_file(shared / "second_name", LogLevel::error), EACCES,
                             "a directory of your own"));
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file to another user";
    constexpr uid_t nobody = 65534;
    ASSERT_EQ(::chown((shared / "log").c_str(), nobody, nobody), 0);
    EXPECT_FALSE(Log::to_file(shared / "log", LogLevel::error));
}

TEST_F(LogFile, BytesOfAPeerStayWithinTheirLine) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte)
        all += static_cast<char>(byte);
    Log::to_file(file_, LogLevel::error)->error("CREATE {}", all);
    std::string text = test::read_file(file_);
    EXPECT_EQ(lines_of(text), 1U);
    ASSERT_TRUE(text.ends_with('\n'));
    text.pop_back();
    for (const char byte : text)
        EXPECT_TRUE(byte >= ' ' && byte < 0x7f) << static_cast<int>(byte);
    for (const char* written : {"\\x00\\x01", "\\x0a", "\\x1b", "\\x7f\\x80", "\\xff", " !\"#"})
        EXPECT_TRUE(test::contains(text, written)) << written;
}

TEST_F(LogFile, AFloodOfOneKindIsCountedAndDoesNotHideOthers) {
    constexpr unsigned flood = 1000;
    {
        const auto log = *Log::to_file(file_, LogLevel::info);
        for (unsigned number = 0; number < flood; ++number)
            log.warning("refused a connection: {}", number);
        log.error("the reason");
    }
    const std::string text = test::read_file(file_);
    EXPECT_TRUE(test::contains(text, "refused a connection: 9\n"));
    EXPECT_TRUE(test::contains(text, "error: the reason\n"));
    EXPECT_TRUE(
        test::contains(text, " more lines like \"refused a connection: {}\" were left out\n"));
    // On a slow machine the loop may take several seconds, with 10 lines of the flood in each.
    EXPECT_LT(lines_of(text), flood / 2) << text;
}

TEST_F(LogFile, OneKindMayHaveManyTexts) {
    {
        const auto log = *Log::to_file(file_, LogLevel::error);
        for (unsigned number = 0; number < 1000; ++number)
            log.error_of_kind("lost connection", fmt::format("pool {} is lost", number));
        log.error_of_kind("failed medium", "the reason");
    }
    const std::string text = test::read_file(file_);
    EXPECT_TRUE(test::contains(text, "error: the reason\n"));
    EXPECT_TRUE(test::contains(text, " more lines like \"lost connection\" were left out\n"));
}

TEST(LineLimit, TenASecondOfAKindAndThenACount) {
    LineLimit limit;
    const LineLimit::Time start{};
    for (unsigned number = 0; number < 25; ++number) {
        const auto [write, dropped] = limit.admit("kind", start + number * 10ms);
        EXPECT_EQ(write, number < 10) << number;
        EXPECT_EQ(dropped, 0U);
    }
    EXPECT_TRUE(limit.admit("another kind", start + 500ms).write);
    EXPECT_FALSE(limit.admit("kind", start + 999ms).write);
    const auto [write, dropped] = limit.admit("kind", start + 1s);
    EXPECT_TRUE(write);
    EXPECT_EQ(dropped, 16U);
    for (unsigned number = 0; number < 10; ++number)
        static_cast<void>(limit.admit("kind", start + 1s));
    std::string left;
    limit.for_each_dropped([&](std::string_view kind, unsigned count) {
        left += std::string(kind) + " " + std::to_string(count) + "\n";
    });
    EXPECT_EQ(left, "kind 1\n");
}

// Replaces standard error by FD. The destructor restores it.
class StandardError {
public:
    explicit StandardError(int fd) : before_(::dup(STDERR_FILENO)) { ::dup2(fd, STDERR_FILENO); }
    ~StandardError() { ::dup2(before_.get(), STDERR_FILENO); }
    StandardError(const StandardError&) = delete;
    StandardError& operator=(const StandardError&) = delete;

private:
    UniqueFd before_;
};

TEST_F(LogFile, StandardErrorIsWrittenOnlyWhileItIsTheSameFile) {
    const UniqueFd first(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const auto pool = directory_ / "pool";
    const UniqueFd second(::open(pool.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const Log log = Log::to_stderr("librpmem", LogLevel::error, identity_of(first.get()));
    {
        const StandardError here(first.get());
        log.error("to be seen");
    }
    {
        const StandardError here(second.get()); // like a program that closed it and opened a file
        log.error("never to be seen");
        Log::to_stderr("librpmem", LogLevel::error, std::nullopt).error("closed at load");
    }
    const std::string expected = fmt::format("librpmem[{}]: error: to be seen\n", ::getpid());
    EXPECT_EQ(test::read_file(file_), expected);
    EXPECT_EQ(test::read_file(pool), "");
}

volatile std::sig_atomic_t broken_pipes = 0;

TEST_F(LogFile, AReaderThatIsGoneIsNoSignalAndOneThatSleepsNoWait) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    const Log log = Log::to_stderr("librpmem", LogLevel::debug, identity_of(writer.get()));
    const auto before = ::signal(SIGPIPE, [](int) { broken_pipes = broken_pipes + 1; });
    {
        const StandardError here(writer.get());
        // More than a pipe holds. Each line is larger than PIPE_BUF, so a write of all of it could
        // block although poll(2) reports the pipe as writable.
        for (unsigned number = 0; number < 20; ++number)
            log.debug("{}", std::string(8000, 'x'));
        reader.reset();
        log.error("nobody reads this");
    }
    ::signal(SIGPIPE, before);
    EXPECT_EQ(broken_pipes, 0);
}

} // namespace
} // namespace rpmem::initiator
