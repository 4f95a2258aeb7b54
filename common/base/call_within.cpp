// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/call_within.hpp"

#include "common/base/deadline.hpp"
#include "common/base/fork_listener.hpp"
#include "common/base/quiet_thread.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace rpmem {
namespace {

std::atomic<int> unfinished = 0;

// A child made by fork(2) has none of its parent's threads, so no call continues there.
const ForkListener forget_calls([](void*) { unfinished = 0; }, nullptr);

// Counts a call until it has ended. is_free() is false if max_unfinished_calls were running
// already.
class Place {
public:
    Place() : is_free_(unfinished.fetch_add(1) < max_unfinished_calls) {}
    ~Place() { unfinished.fetch_sub(1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    [[nodiscard]] bool is_free() const { return is_free_; }

private:
    bool is_free_;
};

struct Call {
    std::function<void()> body;
    Place place;
    std::mutex mutex;
    std::condition_variable ended;
    bool has_ended = false;

    explicit Call(std::function<void()> given) : body(std::move(given)) {}

    void run() {
        try {
            body();
        } catch (...) { // such as std::bad_alloc; the caller finds no result
        }
        const std::lock_guard lock(mutex);
        has_ended = true;
        ended.notify_all();
    }
};

// A thread that outlives its call returns into this code, so dlclose(3) must not unmap it.
void stay_loaded() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&stay_loaded), &info) != 0)
        static_cast<void>(::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
}

} // namespace

Result<> call_within(std::chrono::milliseconds time, std::function<void()> body) {
    const auto end = Deadline::Clock::now() + time;
    const auto call = std::make_shared<Call>(std::move(body));
    if (!call->place.is_free())
        return fail(ErrorClass::resource_limit, EAGAIN, "{} earlier requests are still unanswered",
                    max_unfinished_calls);
    std::thread thread;
    try {
        thread = start_without_signals([call] { call->run(); });
    } catch (const std::system_error& error) {
        return fail_errno(ErrorClass::resource_limit, error.code().value(),
                          "cannot start a thread (see the limit 'ulimit -u')");
    }
    std::unique_lock lock(call->mutex);
    if (call->ended.wait_until(lock, end, [&] { return call->has_ended; })) {
        lock.unlock();
        thread.join();
        return {};
    }
    stay_loaded();
    thread.detach();
    return fail(ErrorClass::link_lost, ETIMEDOUT, "no answer within {} ms", time.count());
}

} // namespace rpmem
