// SPDX-License-Identifier: BSD-3-Clause
// Tests the locks of parts, in this process, in a child process and in several threads. The test
// fails if two sessions can have a pool for writing, if readers exclude each other or share with a
// writer, if one file is used as two parts, or if a busy or replaced part is changed or removed.
#include "common/base/unique_fd.hpp"
#include "rpmemd/pools/examine_pool.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace rpmem::target {
namespace {

namespace fs = std::filesystem;

// Another process that holds the lock of a file while this object exists.
class LockingProcess {
public:
    explicit LockingProcess(const fs::path& path) {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        const UniqueFd reader(ends[0]);
        UniqueFd writer(ends[1]);
        child_ = fork();
        if (child_ == 0) {
            const int fd = ::open(path.c_str(), O_RDWR);
            const char locked = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 'y' : 'n';
            if (write(writer.get(), &locked, 1) != 1)
                _exit(1);
            while (true)
                pause();
        }
        char locked = 'n';
        EXPECT_EQ(read(reader.get(), &locked, 1), 1);
        EXPECT_EQ(locked, 'y');
    }
    LockingProcess(const LockingProcess&) = delete;
    LockingProcess& operator=(const LockingProcess&) = delete;
    ~LockingProcess() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }

private:
    pid_t child_ = -1;
};

class PoolLock : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
    }
};

TEST_F(PoolLock, AnOpenPoolIsBusy) {
    auto pool = value_of(create());
    EXPECT_TRUE(failed(open(), EBUSY, "part0"));
    EXPECT_TRUE(failed(create(), EBUSY));
    EXPECT_TRUE(failed(remove(), EAGAIN));
    ASSERT_TRUE(succeeded(pool.close()));
    auto again = value_of(open());
    EXPECT_TRUE(failed(open(), EBUSY));
}

TEST_F(PoolLock, ReadersShareWithReadersOnly) {
    ASSERT_TRUE(succeeded(create()));
    options.read_only = true;
    const auto reader = value_of(open());
    EXPECT_TRUE(succeeded(open()));
    options.read_only = false;
    EXPECT_TRUE(failed(open(), EBUSY, "part0"));
    EXPECT_TRUE(failed(remove(), EAGAIN));
}

TEST_F(PoolLock, ReadersWaitForWriters) {
    const auto pool = value_of(create());
    options.read_only = true;
    EXPECT_TRUE(failed(open(), EBUSY, "part0"));
}

TEST_F(PoolLock, AnotherProcessMayHoldAnyPart) {
    ASSERT_TRUE(succeeded(create()));
    {
        const LockingProcess other(part("part1"));
        EXPECT_TRUE(failed(open(), EBUSY, "part1"));
        EXPECT_TRUE(failed(create(), EBUSY, "part1"));
        EXPECT_TRUE(failed(remove(), EAGAIN, "part1"));
        EXPECT_TRUE(has("part0")) << "removed though part1 is in use";
    }
    EXPECT_TRUE(succeeded(open()));
}

TEST_F(PoolLock, ABusyPartKeepsNewOnesFromBeingMade) {
    make_part("part1", 2 * MiB);
    const LockingProcess other(part("part1"));
    EXPECT_TRUE(failed(create(), EBUSY));
    EXPECT_FALSE(has("part0"));
    EXPECT_EQ(read_file(part("part1")), std::string(2 * MiB, '\0'));
}

TEST_F(PoolLock, OneFileUnderTwoNamesIsRefused) {
    make_part("part0", 2 * MiB);
    fs::create_hard_link(part("part0"), part("part1"));
    EXPECT_TRUE(failed(create(), EINVAL, "are one file"));
    EXPECT_EQ(read_file(part("part0")), std::string(2 * MiB, '\0'));
    EXPECT_TRUE(failed(open(), EINVAL, "are one file"));
    const auto facts = value_of(examine_pool(options, "pool.set"));
    EXPECT_TRUE(test::contains(facts.parts.at(1).problem, "are one file"));
    EXPECT_EQ(facts.parts.at(1).code, EINVAL);
}

// Shared locks of one file do not exclude each other.
TEST_F(PoolLock, OneFileUnderTwoNamesIsNotReadTwice) {
    ASSERT_TRUE(succeeded(create()));
    fs::remove(part("part1"));
    fs::create_hard_link(part("part0"), part("part1"));
    options.read_only = true;
    EXPECT_TRUE(failed(open(), EINVAL, "are one file"));
}

TEST_F(PoolLock, OneNameInTwoWaysIsRefused) {
    fs::create_directory(part("dir"));
    pool_set("pool.set", "2M @/part0\n2M @/dir/../part0\n");
    EXPECT_TRUE(failed(create(), EINVAL, "/dir/../part0 of the pool set are one file"));
    EXPECT_FALSE(has("part0"));
}

TEST_F(PoolLock, ALinkThatLeadsNowhereIsNamed) {
    fs::create_symlink("nowhere", part("part0"));
    EXPECT_TRUE(failed(create(), EEXIST, "symbolic link to a file that does not exist"));
    EXPECT_FALSE(has("nowhere"));
}

// flock(2) fails like this if the file system has no locks, or none is left.
TEST_F(PoolLock, WhyThereIsNoLockIsTold) {
    ASSERT_TRUE(succeeded(create()));
    for (const int code : {ENOLCK, ENOSYS, EPERM}) {
        test::Recorder::instance().fail(
            {.call = "flock", .path = "part0", .number = 0, .code = code});
        EXPECT_TRUE(failed(open(), code, "cannot lock part"));
        test::Recorder::instance().reset();
    }
}

TEST_F(PoolLock, AFileThatTookThePlaceOfAPartIsNotRemoved) {
    auto pool = value_of(create());
    fs::remove(part("part0"));
    make_part("part0", 10, "not ours");
    EXPECT_TRUE(failed(pool.remove(), ENOENT, "part0"));
    EXPECT_EQ(read_file(part("part0")).substr(0, 8), "not ours");
    EXPECT_FALSE(has("part1"));
}

TEST_F(PoolLock, ChildProcessesDoNotInheritIt) {
    auto pool = value_of(create());
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = fs::read_symlink(entry.path(), error);
        if (!error && target.native().starts_with(root.native())) {
            EXPECT_NE(fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0) << target;
        }
    }
}

TEST_F(PoolLock, OnlyOneOfManyCreates) {
    constexpr int count = 8;
    constexpr int max_rounds = 100;
    std::ptrdiff_t created = 0;
    // Two threads that create the pool at the same time may both fail, but never both succeed.
    for (int round = 0; round < max_rounds && created == 0; ++round) {
        std::array<int, count> codes{};
        std::array<std::optional<Pool>, count> pools;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                Log silent;
                auto pool = create_pool(options, "pool.set", 0, golden_attributes(2), silent);
                codes[i] = pool ? 0 : pool.error().code;
                if (pool)
                    pools[i] = std::move(*pool);
            });
        for (auto& thread : threads)
            thread.join();
        for (const int code : codes)
            EXPECT_TRUE(code == 0 || code == EBUSY || code == EEXIST || code == ENOENT) << code;
        created = std::ranges::count(codes, 0);
        ASSERT_EQ(has("part0"), created > 0);
        ASSERT_EQ(has("part1"), created > 0);
    }
    ASSERT_EQ(created, 1);
    EXPECT_EQ(read_file(part("part0")).substr(0, 8), "GOLDEN_1");
    EXPECT_EQ(read_file(part("part1")).substr(0, 8), "GOLDEN_1");
}

} // namespace
} // namespace rpmem::target
