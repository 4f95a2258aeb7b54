// SPDX-License-Identifier: BSD-3-Clause
// Tests copies of memory that has vanished since it was probed: a truncated file (SIGBUS), a
// protected or unmapped page (SIGSEGV). The test fails if a fault ends the process, if its offset
// is wrong, or if the program loses a signal of its own, its handler, or the stack of its handler.
#include "common/base/unique_fd.hpp"
#include "librpmem/replica/guarded_load.hpp"
#include "tests/support/expect.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>

namespace rpmem::initiator::guarded_load {
namespace {

const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t pages = 4;

// Pages of a file. They raise SIGBUS from page KEPT on.
class TruncatedMemory {
public:
    explicit TruncatedMemory(std::size_t kept) {
        if (::ftruncate(file_.get(), static_cast<off_t>(kept * page)) != 0 || memory_ == MAP_FAILED)
            throw std::runtime_error("no memory");
    }
    ~TruncatedMemory() { ::munmap(memory_, pages * page); }
    TruncatedMemory(const TruncatedMemory&) = delete;
    TruncatedMemory& operator=(const TruncatedMemory&) = delete;

    [[nodiscard]] std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(memory_), pages * page};
    }

private:
    UniqueFd file_{::memfd_create("pool", MFD_CLOEXEC)};
    void* memory_ =
        ::mmap(nullptr, pages* page, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
};

std::optional<std::size_t> load(std::span<std::byte> source) {
    std::vector<std::byte> copy(source.size());
    const auto fault = load_words_guarded(copy.data(), source);
    if (!fault) {
        EXPECT_TRUE(std::ranges::equal(copy, source));
    }
    return fault;
}

// Loads from truncated memory in a thread while it exists.
class LoadingThread {
public:
    explicit LoadingThread(std::span<std::byte> source) {
        thread_ = std::thread([this, source] {
            while (!is_over_) {
                EXPECT_EQ(load(source), page);
                ++loads;
            }
        });
        while (loads == 0)
            std::this_thread::yield();
    }
    ~LoadingThread() {
        is_over_ = true;
        thread_.join();
    }
    std::atomic<std::size_t> loads = 0;

private:
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
};

struct sigaction action_of(int number) {
    struct sigaction action {};
    ::sigaction(number, nullptr, &action);
    action.sa_flags &= ~0x04000000; // SA_RESTORER, which libc adds whenever it sets an action
    return action;
}

// What the program's own handlers have seen.
sigjmp_buf back;
std::atomic<void*> seen_address = nullptr;
std::atomic<int> seen_number = 0;
std::atomic<std::uintptr_t> seen_stack = 0;

void handle_with_details(int number, siginfo_t* information, void*) {
    const int local = 0;
    seen_stack = reinterpret_cast<std::uintptr_t>(&local);
    seen_address = information->si_addr;
    seen_number = number;
    siglongjmp(back, 1);
}
void handle_number(int number) { seen_number = number; }
void handle_otherwise(int number) { seen_number = -number; }

// Returns the address of the fault when PLACE is read.
void* fault_at(const std::byte* place) {
    seen_address = nullptr;
    if (sigsetjmp(back, 1) == 0)
        static_cast<void>(*static_cast<volatile const std::byte*>(place));
    return seen_address;
}

// Sets a handler for SIGBUS, and the one before at the end.
class OwnHandler {
public:
    explicit OwnHandler(const struct sigaction& action) { ::sigaction(SIGBUS, &action, &before_); }
    ~OwnHandler() { ::sigaction(SIGBUS, &before_, nullptr); }
    OwnHandler(const OwnHandler&) = delete;
    OwnHandler& operator=(const OwnHandler&) = delete;

private:
    struct sigaction before_ {};
};

struct sigaction with_details(int flags = 0) {
    struct sigaction action {};
    action.sa_sigaction = handle_with_details;
    action.sa_flags = SA_SIGINFO | flags;
    return action;
}

struct sigaction simple(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    return action;
}

TEST(GuardedLoad, CopiesWhatCanBeRead) {
    std::vector<std::uint64_t> words(1001, 7);
    EXPECT_FALSE(load(std::as_writable_bytes(std::span(words))));
    EXPECT_FALSE(load(std::as_writable_bytes(std::span(words)).first(77)));
}

TEST(GuardedLoad, ReportsTheFirstByteOfATruncatedFile) {
    for (std::size_t kept = 0; kept < pages; ++kept)
        EXPECT_EQ(load(TruncatedMemory(kept).bytes()), kept * page);
    EXPECT_FALSE(load(TruncatedMemory(pages).bytes()));
}

TEST(GuardedLoad, ReportsProtectedAndUnmappedPages) {
    const TruncatedMemory memory(pages);
    ASSERT_EQ(::mprotect(memory.bytes().data() + 2 * page, page, PROT_NONE), 0);
    EXPECT_EQ(load(memory.bytes()), 2 * page);
    ASSERT_EQ(::munmap(memory.bytes().data() + page, page), 0);
    EXPECT_EQ(load(memory.bytes()), page);
}

TEST(GuardedLoad, TheProgramHasItsHandlersAfterwards) {
    const OwnHandler handler(with_details(SA_NODEFER));
    const struct sigaction bus = action_of(SIGBUS);
    const struct sigaction segv = action_of(SIGSEGV);
    EXPECT_EQ(load(TruncatedMemory(1).bytes()), page);
    EXPECT_EQ(action_of(SIGBUS).sa_sigaction, bus.sa_sigaction);
    EXPECT_EQ(action_of(SIGBUS).sa_flags, bus.sa_flags);
    EXPECT_EQ(action_of(SIGSEGV).sa_handler, segv.sa_handler);
    EXPECT_EQ(action_of(SIGSEGV).sa_flags, segv.sa_flags);
    sigset_t mask;
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
    EXPECT_EQ(sigismember(&mask, SIGBUS), 0) << "the signal is still blocked";
}

// The handler runs on the alternate stack, and learns the address.
TEST(GuardedLoad, TheProgramGetsItsOwnFaults) {
    std::vector<std::byte> stack(std::size_t{256} * 1024);
    const stack_t own{stack.data(), 0, stack.size()};
    stack_t before{};
    ASSERT_EQ(::sigaltstack(&own, &before), 0);
    const OwnHandler handler(with_details(SA_ONSTACK));
    const TruncatedMemory loaded(1);
    const TruncatedMemory used(0);
    const LoadingThread thread(loaded.bytes());
    const std::byte* const places[] = {used.bytes().data() + page,
                                       loaded.bytes().data() + 2 * page}; // also where it loads
    for (std::size_t i = 0; i < 2000; ++i) {
        ASSERT_EQ(fault_at(places[i % 2]), places[i % 2]);
        ASSERT_TRUE(seen_stack >= reinterpret_cast<std::uintptr_t>(stack.data()) &&
                    seen_stack < reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()));
    }
    EXPECT_EQ(seen_number, SIGBUS);
    ::sigaltstack(&before, nullptr);
}

TEST(GuardedLoad, TheProgramGetsSignalsThatAreSent) {
    const OwnHandler handler(simple(handle_number));
    const TruncatedMemory loaded(1);
    const LoadingThread thread(loaded.bytes());
    for (int i = 0; i < 2000; ++i) {
        seen_number = 0;
        ASSERT_EQ(::raise(SIGBUS), 0);
        ASSERT_EQ(seen_number, SIGBUS);
    }
}

TEST(GuardedLoad, TheProgramIgnoresSignalsThatAreSent) {
    const OwnHandler ignoring(simple(SIG_IGN));
    const TruncatedMemory loaded(1);
    const LoadingThread thread(loaded.bytes());
    for (int i = 0; i < 2000; ++i)
        ASSERT_EQ(::raise(SIGBUS), 0);
}

// Whatever handler the program has set last is there in the end.
TEST(GuardedLoad, AHandlerThatIsSetMeanwhileStays) {
    const OwnHandler outer(simple(handle_number));
    const TruncatedMemory loaded(pages); // without a fault, which the program's handler would get
    for (int i = 0; i < 200; ++i) {
        std::atomic<bool> is_over = false;
        std::thread thread([&] {
            while (!is_over)
                EXPECT_FALSE(load(loaded.bytes()));
        });
        void (*last)(int) = nullptr;
        for (int j = 0; j < 50; ++j) {
            last = (i + j) % 2 == 0 ? handle_number : handle_otherwise;
            const struct sigaction action = simple(last);
            ASSERT_EQ(::sigaction(SIGBUS, &action, nullptr), 0);
        }
        is_over = true;
        thread.join();
        ASSERT_EQ(action_of(SIGBUS).sa_handler, last);
    }
}

// The program's handler, such as one that reports a crash, calls the former one.
struct sigaction former_of_program;
void report_and_pass_on(int number, siginfo_t* information, void* context) {
    if ((former_of_program.sa_flags & SA_SIGINFO) != 0)
        return former_of_program.sa_sigaction(number, information, context);
    ::_exit(1);
}

// It was set while the handler of the library was installed, and was replaced by it once more.
TEST(GuardedLoad, HandlersThatCallEachOtherEndTheProgram) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        const TruncatedMemory loaded(1);
        const LoadingThread thread(loaded.bytes());
        struct sigaction action {};
        action.sa_sigaction = report_and_pass_on;
        action.sa_flags = SA_SIGINFO;
        struct sigaction none {};
        none.sa_handler = SIG_DFL;
        while ((former_of_program.sa_flags & SA_SIGINFO) == 0) {
            ::sigaction(SIGSEGV, &none, nullptr);
            ::sigaction(SIGSEGV, &action, &former_of_program);
        }
        const std::size_t before = thread.loads;
        while (thread.loads < before + 3)
            std::this_thread::yield();
        for (;;)
            *reinterpret_cast<volatile int*>(16) = 1;
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST(GuardedLoad, OtherFaultsEndAProgramWithoutHandlers) {
    const TruncatedMemory loaded(1);
    const TruncatedMemory used(0);
    const pid_t child = ::fork();
    if (child == 0) {
        const OwnHandler none(simple(SIG_DFL));
        const LoadingThread thread(loaded.bytes());
        for (;;)
            static_cast<void>(*static_cast<volatile const std::byte*>(used.bytes().data()));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), SIGBUS);
}

// Another thread of the parent may be within a load. It allocates nothing, because a child with
// AddressSanitizer would inherit the lock of its allocator, and wait for ever.
TEST(GuardedLoad, WorksInAChild) {
    const TruncatedMemory loaded(1);
    std::atomic<std::size_t> loads = 0;
    std::atomic<bool> is_over = false;
    std::thread thread([&] {
        for (std::byte copy[64]; !is_over; ++loads)
            static_cast<void>(load_words_guarded(copy, loaded.bytes().first(sizeof(copy))));
    });
    while (loads == 0)
        std::this_thread::yield();
    for (int i = 0; i < 50; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::byte copy[8];
            ::alarm(20);
            const auto fault = load_words_guarded(copy, loaded.bytes().subspan(page, 8));
            ::_exit(fault == std::size_t{0} ? 0 : 1);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    is_over = true;
    thread.join();
}

} // namespace
} // namespace rpmem::initiator::guarded_load
