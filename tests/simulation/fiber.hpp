// SPDX-License-Identifier: BSD-3-Clause
// A function with its own stack that yields the processor only where it calls leave().
#pragma once

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define RPMEM_SIMULATION_ASAN
#elif defined(__SANITIZE_THREAD__)
#define RPMEM_SIMULATION_TSAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RPMEM_SIMULATION_ASAN
#elif __has_feature(thread_sanitizer)
#define RPMEM_SIMULATION_TSAN
#endif
#endif

namespace rpmem::simulation {

// Stacks with a guard page. They are reused, because mapping one takes as long as a small
// simulation.
class Stacks {
public:
    Stacks() = default;
    ~Stacks();
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;

    std::span<std::byte> take();
    void give_back(std::span<std::byte> stack) { free_.push_back(stack); }

private:
    std::vector<std::span<std::byte>> all_; // without their guard pages
    std::vector<std::span<std::byte>> free_;
};

class Fiber {
public:
    Fiber(Stacks& stacks, std::string name, std::function<void()> body);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the fiber until it calls leave() or ends. Call it from the thread.
    void enter();
    // Returns to the thread. Call it from the fiber.
    void leave();

    [[nodiscard]] bool has_ended() const { return has_ended_; }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    static void begin(unsigned high, unsigned low);
    void switch_in();
    void switch_out();
    void run();

    Stacks& stacks_;
    std::string name_;
    std::function<void()> body_;
    std::span<std::byte> stack_;
    ucontext_t own_{};
    bool has_ended_ = false;
#if defined(RPMEM_SIMULATION_ASAN) || defined(RPMEM_SIMULATION_TSAN)
    ucontext_t thread_{};
#else
    // After the first switch, jumps are used instead of contexts, because they do not set the
    // signal mask, which costs a system call. The sanitizers would misunderstand the jumps.
    std::jmp_buf own_place_{};
    std::jmp_buf thread_place_{};
    bool has_begun_ = false;
#endif
#ifdef RPMEM_SIMULATION_ASAN
    void* fake_stack_ = nullptr;
    void* fake_stack_of_thread_ = nullptr;
    const void* stack_of_thread_ = nullptr;
    std::size_t size_of_thread_ = 0;
#endif
#ifdef RPMEM_SIMULATION_TSAN
    void* tsan_fiber_ = nullptr;
    void* tsan_thread_ = nullptr;
#endif
};

} // namespace rpmem::simulation
