// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/guarded_load.hpp"

#include "common/base/fork_listener.hpp"
#include "librpmem/replica/load_words.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <thread>

namespace rpmem::initiator {
namespace {

struct Load {
    std::uintptr_t begin;
    std::uintptr_t end;
    volatile std::uintptr_t fault = 0; // the address of the load that has faulted
    sigjmp_buf back{};
};

// The load of a thread. A thread_local variable cannot replace it: its first access in a thread
// allocates memory, which a signal handler must not do. A variable of the initial-exec model does
// not allocate, but then dlopen(3) of the library can fail for lack of static TLS.
struct Slot {
    std::atomic<pid_t> thread = 0; // 0 if the slot is free
    Load* load = nullptr;          // only for this thread
};
constexpr pid_t reserved = -1;
std::array<Slot, 32> slots; // more loads at once wait

// A load that may fault, while one of these exists.
class Current {
public:
    explicit Current(Load& load) {
        for (std::size_t i = 0; !take(slots[i]); i = (i + 1) % slots.size())
            if (i + 1 == slots.size())
                std::this_thread::yield();
        slot_->load = &load;
        slot_->thread = ::gettid();
    }
    ~Current() { slot_->thread = 0; }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

    // Safe in a signal handler. Returns null if this thread loads nothing.
    static Load* of_this_thread() {
        const pid_t thread = ::gettid();
        for (const Slot& slot : slots)
            if (slot.thread == thread)
                return slot.load;
        return nullptr;
    }

private:
    bool take(Slot& slot) {
        pid_t free = 0;
        slot_ = &slot;
        return slot.thread.compare_exchange_strong(free, reserved);
    }
    Slot* slot_ = nullptr;
};

constexpr std::array faults{SIGBUS, SIGSEGV};

// The application's action for a fault. The handler reads the atomic members without a lock.
struct Former {
    struct sigaction action {};
    std::atomic<void (*)(int)> handler = nullptr;
    std::atomic<void (*)(int, siginfo_t*, void*)> detailed_handler = nullptr; // with SA_SIGINFO
    std::atomic<int> flags = 0;

    void set(const struct sigaction& next) {
        action = next;
        handler = next.sa_handler;
        detailed_handler = next.sa_sigaction; // a union with sa_handler
        flags = next.sa_flags;
    }
};
std::array<Former, faults.size()> formers;

const Former& former_of(int number) { return formers[number == faults[0] ? 0 : 1]; }

// After a fault, the instruction fails again and has the default action there, so a core dump shows
// its place. A signal that was sent is sent again.
void end_by_default(int number, bool is_fault) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
    if (!is_fault)
        static_cast<void>(::raise(number));
}

// The signal that was passed on last: its context, and the stack frame of the handler.
std::atomic<void*> passed_context = nullptr;
std::atomic<void*> passed_frame = nullptr;

// An application that has set its handler while ours was installed may call ours as the former one.
// If ours is installed again then, both would call each other for ever. The second call for a
// signal has the same context, and a frame below that of the first.
bool is_passed_already(void* context) {
    void* const frame = __builtin_frame_address(0);
    if (passed_context == context && frame < passed_frame)
        return true;
    passed_context = context;
    passed_frame = frame;
    return false;
}

void pass_on(int number, siginfo_t* information, void* context) {
    const Former& former = former_of(number);
    void (*const handler)(int) = former.handler;
    const int flags = former.flags;
    const bool is_fault = information->si_code > 0; // otherwise kill(2) or the like sent it
    if (handler == SIG_IGN && !is_fault)
        return;
    if (handler == SIG_DFL || handler == SIG_IGN || is_passed_already(context))
        return end_by_default(number, is_fault);
    if ((flags & SA_RESETHAND) != 0) {
        struct sigaction action {};
        action.sa_handler = SIG_DFL;
        ::sigaction(number, &action, nullptr);
    }
    if ((flags & SA_SIGINFO) != 0)
        former.detailed_handler.load()(number, information, context);
    else
        handler(number);
}

// A jump skips only load_words(), which has nothing to destroy.
void handle(int number, siginfo_t* information, void* context) {
    Load* const load = Current::of_this_thread();
    const auto address = reinterpret_cast<std::uintptr_t>(information->si_addr);
    if (load != nullptr && information->si_code > 0 && address >= load->begin &&
        address < load->end) {
        load->fault = address;
        siglongjmp(load->back, 1);
    }
    pass_on(number, information, context);
}

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &handle;
}

bool are_same(const struct sigaction& one, const struct sigaction& other) {
    constexpr int by_libc = 0x04000000; // SA_RESTORER, which libc adds
    return one.sa_handler == other.sa_handler &&
           (one.sa_flags & ~by_libc) == (other.sa_flags & ~by_libc);
}

// The application may set a handler between the two calls of sigaction(2). So the action that the
// second one has replaced is kept, and not the one that the first one has found.
void install(int number, Former& former) {
    struct sigaction found {};
    ::sigaction(number, nullptr, &found);
    while (!is_ours(found)) {
        former.set(found);
        struct sigaction own {};
        own.sa_sigaction = &handle;
        own.sa_mask = found.sa_mask;
        own.sa_flags = SA_SIGINFO | (found.sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART));
        struct sigaction replaced {};
        ::sigaction(number, &own, &replaced);
        if (are_same(replaced, found))
            return;
        found = replaced;
    }
}

void restore(int number, const Former& former) {
    struct sigaction next = former.action;
    struct sigaction replaced {};
    ::sigaction(number, &next, &replaced);
    if (is_ours(replaced))
        return;
    // The application has set its own since then. It stays.
    for (bool is_done = false; !is_done;) {
        const struct sigaction expected = next;
        next = replaced;
        ::sigaction(number, &next, &replaced);
        is_done = are_same(replaced, expected);
    }
}

std::atomic<bool> is_locked = false;
unsigned users = 0; // guarded by is_locked

// The threads of the parent do not exist in a child, so they neither unlock nor restore.
const ForkListener forget_threads(
    [](void*) {
        users = 0;
        is_locked = false;
        for (Slot& slot : slots)
            slot.thread = 0;
    },
    nullptr);

// Installs the handlers while one of these exists.
class FaultHandlers {
public:
    FaultHandlers() {
        change([] {
            if (users++ == 0)
                for (std::size_t i = 0; i < faults.size(); ++i)
                    install(faults[i], formers[i]);
        });
    }
    ~FaultHandlers() {
        change([] {
            if (--users == 0)
                for (std::size_t i = 0; i < faults.size(); ++i)
                    restore(faults[i], formers[i]);
        });
    }
    FaultHandlers(const FaultHandlers&) = delete;
    FaultHandlers& operator=(const FaultHandlers&) = delete;

private:
    // A child of fork(2) cannot unlock a mutex that another thread had locked.
    template <typename Function>
    static void change(Function function) {
        while (is_locked.exchange(true))
            std::this_thread::yield();
        function();
        is_locked = false;
    }
};

} // namespace

std::optional<std::size_t> load_words_guarded(std::byte* destination, std::span<std::byte> source) {
    const FaultHandlers handlers;
    const auto begin = reinterpret_cast<std::uintptr_t>(source.data());
    Load load{begin, begin + source.size()};
    const Current current(load);
    if (sigsetjmp(load.back, 1) != 0)
        return load.fault - load.begin;
    load_words(destination, source);
    return std::nullopt;
}

} // namespace rpmem::initiator
