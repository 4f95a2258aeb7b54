// SPDX-License-Identifier: BSD-3-Clause
// Tests applications that fork while a pool is open. Children write to all their pages, call the
// API, end in several ways, or open pools of their own, while the parent uses real lanes to a real
// daemon. A child that sends on its parent's connections, closes the session, keeps it open after
// the parent's death, or hangs in a lock makes a test fail.
#include "tests/integration/environment.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace {
bool in_child = false;
}

#ifdef __SANITIZE_ADDRESS__
// Memory that only threads of the parent refer to looks like a leak in a child that ends.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
    return in_child ? 1 : 0;
}
#endif

namespace rpmem::test {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool children_have_threads = false; // with ThreadSanitizer they die of them
#else
constexpr bool children_have_threads = true;
#endif

#ifdef __SANITIZE_ADDRESS__
// If another thread holds a lock of AddressSanitizer's allocator during the fork, the lock stays
// held in the child. The allocator of glibc takes its locks before a fork, that of gcc 12 does not.
constexpr bool children_may_allocate = false;
#else
constexpr bool children_may_allocate = true;
#endif
constexpr const char* may_wait_for_ever = "a child may wait for AddressSanitizer's locks for ever";

constexpr unsigned test_timeout = 120; // seconds; a child that hangs is killed

// A pipe by which one process wakes another.
class Signal {
public:
    Signal() {
        if (::pipe(ends_.data()) != 0)
            std::abort();
    }
    ~Signal() { end(); }
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    void raise() const { EXPECT_EQ(::write(ends_[1], "!", 1), 1); }
    void wait() const {
        char byte = 0;
        EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
    }
    // Returns when every other copy of the sending end is closed.
    void wait_for_end() {
        ::close(std::exchange(ends_[1], -1));
        char byte = 0;
        while (::read(ends_[0], &byte, 1) > 0)
            ;
    }
    void end() {
        for (int& fd : ends_)
            if (fd >= 0)
                ::close(std::exchange(fd, -1));
    }

private:
    std::array<int, 2> ends_{};
};

// Runs BODY in a child, whose exit status is 1 if a check in it failed.
template <typename Body>
pid_t start_child(Body body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        in_child = true;
        ::alarm(test_timeout);
        body();
        ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    return child;
}

void expect_success(pid_t child) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Writes to every page of this process that is not shared: heap, stacks, the lanes' buffers.
void take_copies_of_all_pages() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return; // the sanitizer has pages that nothing else may write to
#endif
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char rights[5] = "";
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3 ||
            std::strcmp(rights, "rw-p") != 0)
            continue;
        for (auto page = begin; page < end; page += 4096) {
            auto* const byte = reinterpret_cast<volatile char*>(page);
            *byte = *byte;
        }
    }
}

class Forks : public PoolTest {
protected:
    // Fills the pool with new bytes and makes it durable with LANES lanes, half of each share by
    // persist and half by flush and drain.
    void persist_all(RPMEMpool* pool, std::uint64_t seed, unsigned lanes) {
        local.fill(seed);
        const std::size_t share = (local.size() - header_size) / lanes;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const std::size_t begin = header_size + lane * share;
            const std::size_t half = share / 2;
            EXPECT_TRUE(succeeded(rpmem_persist(pool, begin, half, lane, 0)));
            EXPECT_TRUE(succeeded(
                rpmem_flush(pool, begin + half, share - half, lane, RPMEM_FLUSH_RELAXED)));
            EXPECT_TRUE(succeeded(rpmem_drain(pool, lane, 0)));
        }
        const std::size_t size = share * lanes;
        expect_replicated(header_size, size);
        std::vector<std::byte> back(size);
        EXPECT_TRUE(succeeded(rpmem_read(pool, back.data(), header_size, size, 0)));
        EXPECT_EQ(std::memcmp(back.data(), local.data() + header_size, size), 0);
    }

    void expect_refusals(RPMEMpool* pool) {
        const rpmem_pool_attr attributes = sample_attributes();
        std::array<std::byte, 64> buffer;
        const auto expect_refusal = [](const char* call, int status) {
            EXPECT_EQ(status, -1) << call;
            EXPECT_EQ(errno, EPERM) << call << ": " << rpmem_errormsg();
            EXPECT_NE(std::strstr(rpmem_errormsg(), call), nullptr) << rpmem_errormsg();
            EXPECT_NE(std::strstr(rpmem_errormsg(), "fork(2)"), nullptr) << rpmem_errormsg();
        };
        expect_refusal("rpmem_persist", rpmem_persist(pool, header_size, 64, 0, 0));
        expect_refusal("rpmem_deep_persist", rpmem_deep_persist(pool, header_size, 64, 0));
        expect_refusal("rpmem_flush", rpmem_flush(pool, header_size, 64, 0, 0));
        expect_refusal("rpmem_drain", rpmem_drain(pool, 0, 0));
        expect_refusal("rpmem_read", rpmem_read(pool, buffer.data(), header_size, 64, 0));
        expect_refusal("rpmem_set_attr", rpmem_set_attr(pool, &attributes));
        rpmem_replica_state_info info{};
        info.version = RPMEM_REPLICA_STATE_VERSION;
        expect_refusal("rpmem_replica_state", rpmem_replica_state(pool, &info));
        expect_refusal("rpmem_wait_in_sync", rpmem_wait_in_sync(pool, 0));
    }
};

enum class Ending { at_once, by_exit, after_close };

class Endings : public Forks, public ::testing::WithParamInterface<Ending> {
protected:
    static void end(RPMEMpool* pool) {
        if (GetParam() == Ending::at_once)
            return;
        if (GetParam() == Ending::after_close) {
            EXPECT_TRUE(succeeded(rpmem_close(pool)));
        }
        std::exit(HasFailure() ? 1 : 0); // destructors of all libraries
    }
};

TEST_P(Endings, OfAChildHurtNobody) {
    if (!children_may_allocate)
        GTEST_SKIP() << may_wait_for_ever;
    RPMEMpool* pool = created(3);
    persist_all(pool, 1, 2);
    Signal child_is_ready;
    Signal parent_is_ready;
    const pid_t child = start_child([&] {
        local.fill(99);
        take_copies_of_all_pages();
        expect_refusals(pool);
        child_is_ready.raise();
        parent_is_ready.wait();
        take_copies_of_all_pages();
        expect_refusals(pool);
        end(pool);
    });
    child_is_ready.wait();
    persist_all(pool, 2, 2);
    parent_is_ready.raise();
    expect_success(child);
    persist_all(pool, 3, 3); // the third lane is connected now
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
    EXPECT_TRUE(part_gets_unlocked(0));
}

INSTANTIATE_TEST_SUITE_P(Forks, Endings,
                         ::testing::Values(Ending::at_once, Ending::by_exit, Ending::after_close),
                         [](const auto& ending) -> std::string {
                             return ending.param == Ending::at_once   ? "AtOnce"
                                    : ending.param == Ending::by_exit ? "ByExit"
                                                                      : "AfterClose";
                         });

TEST_F(Forks, AtAnyMoment) {
    constexpr unsigned lanes = 3;
    RPMEMpool* pool = created(lanes);
    local.fill(5);
    const std::size_t share = (local.size() - header_size) / lanes;
    std::atomic<bool> enough = false;
    std::vector<std::thread> threads;
    for (unsigned lane = 0; lane < lanes; ++lane)
        threads.emplace_back([&, lane] {
            std::byte* const mine = local.data() + header_size + lane * share;
            for (std::size_t round = 0; !enough; ++round) {
                std::memset(mine, static_cast<int>(round), share);
                ASSERT_TRUE(succeeded(rpmem_persist(pool, header_size + lane * share, share, lane,
                                                    round % 2 == 0 ? 0 : RPMEM_PERSIST_RELAXED)));
            }
        });
    for (int number = 0; number < 12; ++number)
        expect_success(start_child([&] {
            if (!children_may_allocate)
                return;
            EXPECT_EQ(rpmem_drain(pool, 0, 0), -1);
            if (number % 2 == 0)
                std::exit(HasFailure() ? 1 : 0);
        }));
    enough = true;
    for (auto& thread : threads)
        thread.join();
    expect_replicated(header_size, share * lanes);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

TEST_F(Forks, AChildDoesNotKeepTheSessionOfItsParent) {
    if (!children_have_threads || is_on("RPMEM_ENABLE_VERBS"))
        GTEST_SKIP() << "the process with the pool is a child itself";
    Signal is_ready;
    Signal never_raised;
    const pid_t parent = start_child([&] {
        ASSERT_NE(create(local, 1), nullptr) << rpmem_errormsg();
        start_child([&] { never_raised.wait_for_end(); });
        is_ready.raise();
        ::pause();
    });
    is_ready.wait();
    EXPECT_EQ(::kill(parent, SIGKILL), 0);
    EXPECT_EQ(::waitpid(parent, nullptr, 0), parent);
    // The grandchild still runs and has copies of the session's descriptors.
    EXPECT_TRUE(part_gets_unlocked(0));
}

TEST_F(Forks, AChildOpensPoolsOfItsOwn) {
    if (!children_have_threads)
        GTEST_SKIP() << "ThreadSanitizer does not allow it";
    if (!children_may_allocate)
        GTEST_SKIP() << may_wait_for_ever;
    write_pool_set("own.set", "8M %/own");
    RPMEMpool* pool = created(2);
    const pid_t child = start_child([&] {
        local.fill(33);
        RPMEMpool* own = create(local, 2, "own.set");
        // Devices that the parent has opened do not work in a child, so it uses tcp.
        ASSERT_NE(own, nullptr) << rpmem_errormsg();
        EXPECT_TRUE(succeeded(rpmem_persist(own, header_size, local.size() - header_size, 1, 0)));
        EXPECT_EQ(rpmem_close(pool), 0);
        EXPECT_TRUE(succeeded(rpmem_close(own)));
        EXPECT_EQ(std::memcmp(bytes_of(directory() / "own").data() + header_size,
                              local.data() + header_size, local.size() - header_size),
                  0);
    });
    persist_all(pool, 4, 2);
    expect_success(child);
    persist_all(pool, 5, 2);
    EXPECT_TRUE(succeeded(rpmem_close(pool)));
}

} // namespace
} // namespace rpmem::test
