// SPDX-License-Identifier: BSD-3-Clause
// The stacks of fibers, and the switch between a fiber and its thread, also for sanitizers.
#include "tests/simulation/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <stdexcept>
#include <utility>

#ifdef RPMEM_SIMULATION_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef RPMEM_SIMULATION_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace rpmem::simulation {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t stack_size = std::size_t{256} * 1024; // sanitizers need several times more

} // namespace

Stacks::~Stacks() {
    for (const std::span<std::byte> stack : all_)
        ::munmap(stack.data() - page, stack.size() + page);
}

std::span<std::byte> Stacks::take() {
    if (free_.empty()) {
        void* const place = ::mmap(nullptr, stack_size + page, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED || ::mprotect(place, page, PROT_NONE) != 0)
            throw std::runtime_error("no memory for a stack");
        free_.push_back({static_cast<std::byte*>(place) + page, stack_size});
        all_.push_back(free_.back());
    }
    const std::span<std::byte> stack = free_.back();
    free_.pop_back();
    return stack;
}

Fiber::Fiber(Stacks& stacks, std::string name, std::function<void()> body)
    : stacks_(stacks), name_(std::move(name)), body_(std::move(body)), stack_(stacks.take()) {
    if (::getcontext(&own_) != 0)
        throw std::runtime_error("no context");
    own_.uc_stack.ss_sp = stack_.data();
    own_.uc_stack.ss_size = stack_.size();
    own_.uc_link = nullptr;
    const auto self = reinterpret_cast<std::uintptr_t>(this); // makecontext(3) takes integers
    ::makecontext(&own_, reinterpret_cast<void (*)()>(&Fiber::begin), 2,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self & UINT32_MAX));
#ifdef RPMEM_SIMULATION_TSAN
    tsan_fiber_ = __tsan_create_fiber(0);
    tsan_thread_ = __tsan_get_current_fiber();
#endif
}

Fiber::~Fiber() {
#ifdef RPMEM_SIMULATION_TSAN
    __tsan_destroy_fiber(tsan_fiber_);
#endif
    stacks_.give_back(stack_);
}

void Fiber::begin(unsigned high, unsigned low) {
    const std::uintptr_t self = static_cast<std::uintptr_t>(high) << 32 | low;
    reinterpret_cast<Fiber*>(self)->run();
}

void Fiber::run() {
#ifdef RPMEM_SIMULATION_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &stack_of_thread_, &size_of_thread_);
#endif
    body_();
    body_ = {};
    has_ended_ = true;
    leave();
}

#if defined(RPMEM_SIMULATION_ASAN) || defined(RPMEM_SIMULATION_TSAN)
void Fiber::switch_in() { ::swapcontext(&thread_, &own_); }

void Fiber::switch_out() { ::swapcontext(&own_, &thread_); }
#else
void Fiber::switch_in() {
    if (_setjmp(thread_place_) != 0)
        return;
    if (std::exchange(has_begun_, true))
        _longjmp(own_place_, 1);
    ::setcontext(&own_);
}

void Fiber::switch_out() {
    if (_setjmp(own_place_) == 0)
        _longjmp(thread_place_, 1);
}
#endif

void Fiber::enter() {
#ifdef RPMEM_SIMULATION_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_of_thread_, stack_.data(), stack_.size());
#endif
#ifdef RPMEM_SIMULATION_TSAN
    __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
    switch_in();
#ifdef RPMEM_SIMULATION_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_of_thread_, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#ifdef RPMEM_SIMULATION_ASAN
    __sanitizer_start_switch_fiber(has_ended_ ? nullptr : &fake_stack_, stack_of_thread_,
                                   size_of_thread_);
#endif
#ifdef RPMEM_SIMULATION_TSAN
    __tsan_switch_to_fiber(tsan_thread_, 0);
#endif
    switch_out();
#ifdef RPMEM_SIMULATION_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &stack_of_thread_, &size_of_thread_);
#endif
}

} // namespace rpmem::simulation
