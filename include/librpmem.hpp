// SPDX-License-Identifier: BSD-3-Clause
// librpmem.hpp -- librpmem.h for programs in C++20. A pool and its lanes close themselves, ranges
// are spans, and a call returns either its result or an Error. There is only this header.
//
// A Pool has the session. A Lane reserves one of its lanes, and may outlive the Pool. The session
// ends with the last of them. Both can be moved, but not copied. The rules of librpmem.h for
// threads apply: only one thread at a time may use a Lane. Any thread may call Pool::lane().
#ifndef LIBRPMEM_HPP
#define LIBRPMEM_HPP 1

#include <librpmem.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace librpmem {

// Why a call failed: a value of errno(3), and the text of rpmem_errormsg().
struct Error {
    int number = 0;
    std::string text;

    [[nodiscard]] std::error_code code() const noexcept {
        return {number, std::generic_category()};
    }
};

// Either a T, or the Error of the call. value() throws std::system_error if there is no T. In a
// program without exceptions, it calls abort(3).
template <class T>
class [[nodiscard]] Expected {
public:
    // The value of a call that returns nothing.
    struct Nothing {};
    using Value = std::conditional_t<std::is_void_v<T>, Nothing, T>;

    Expected() requires std::is_void_v<T>
    = default;
    // Implicit, like those of std::expected, so that a function can return either.
    Expected(Value value) : content_(std::in_place_index<0>, std::move(value)) {}
    Expected(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool has_value() const noexcept { return content_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    // Call these only if has_value(), and error() only if not.
    [[nodiscard]] Value& operator*() & noexcept { return *std::get_if<0>(&content_); }
    [[nodiscard]] const Value& operator*() const& noexcept { return *std::get_if<0>(&content_); }
    [[nodiscard]] Value&& operator*() && noexcept { return std::move(**this); }
    [[nodiscard]] Value* operator->() noexcept { return std::get_if<0>(&content_); }
    [[nodiscard]] const Value* operator->() const noexcept { return std::get_if<0>(&content_); }
    [[nodiscard]] const Error& error() const& noexcept { return *std::get_if<1>(&content_); }
    [[nodiscard]] Error&& error() && noexcept { return std::move(*std::get_if<1>(&content_)); }

    T value() && {
        require_value();
        if constexpr (!std::is_void_v<T>)
            return std::move(**this);
    }
    std::add_lvalue_reference_t<T> value() & {
        require_value();
        if constexpr (!std::is_void_v<T>)
            return **this;
    }

private:
    void require_value() const {
        if (has_value())
            return;
#if defined(__cpp_exceptions)
        throw std::system_error(error().code(), error().text);
#else
        std::abort();
#endif
    }

    std::variant<Value, Error> content_;
};

// Returns attributes for the headers of the pool's parts. All other fields are zero.
[[nodiscard]] inline rpmem_pool_attr attributes(std::string_view signature,
                                                std::uint32_t major) noexcept {
    rpmem_pool_attr result{};
    std::copy_n(signature.data(), std::min(signature.size(), sizeof(result.signature)),
                result.signature);
    result.major = major;
    return result;
}

// Whether a crash may tear an aligned word of 8 bytes in a range.
enum class Words {
    strict, // a word is old or new
    relaxed // a word may be torn: for data that is not read before it is complete
};

// See rpmem_replica_state(3).
enum class ReplicaState : std::uint32_t {
    in_sync = RPMEM_REPLICA_IN_SYNC,
    away = RPMEM_REPLICA_AWAY,
    catching_up = RPMEM_REPLICA_CATCHING_UP,
    failed = RPMEM_REPLICA_FAILED, // final until the pool is opened again
    paused = RPMEM_REPLICA_PAUSED
};

struct ReplicaStatus {
    ReplicaState state = ReplicaState::in_sync;
    std::chrono::system_clock::time_point since{}; // when the state began, in whole seconds
    std::uint64_t behind_bytes = 0;  // bytes that the target lacks, in blocks of 64 KiB
    std::uint64_t catch_up_rate = 0; // bytes per second, 0 unless catching_up
    std::string reason{};            // why it is not in sync, else empty
};

namespace detail {

[[nodiscard]] inline Error last_error() { return {.number = errno, .text = rpmem_errormsg()}; }

[[nodiscard]] inline Expected<void> checked(int status) {
    if (status == 0)
        return {};
    return last_error();
}

static_assert(RPMEM_PERSIST_RELAXED == RPMEM_FLUSH_RELAXED);
[[nodiscard]] constexpr unsigned flags_of(Words words) noexcept {
    return words == Words::relaxed ? RPMEM_PERSIST_RELAXED : 0U;
}

struct Close {
    void operator()(RPMEMpool* pool) const noexcept { static_cast<void>(rpmem_close(pool)); }
};
using OpenPool = std::unique_ptr<RPMEMpool, Close>;

// The session, and which of its lanes are reserved. The last Pool or Lane that has it ends it.
class Session {
public:
    Session(OpenPool pool, std::span<std::byte> memory, unsigned lanes)
        : pool_(std::move(pool)), memory_(memory), taken_(lanes) {}

    [[nodiscard]] RPMEMpool* pool() const noexcept { return pool_.get(); }
    [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
    [[nodiscard]] unsigned lanes() const noexcept { return static_cast<unsigned>(taken_.size()); }

    // Reserves a free lane and returns its number, or returns lanes() if there is none.
    [[nodiscard]] unsigned take() {
        const std::scoped_lock lock(mutex_);
        const auto free = std::find(taken_.begin(), taken_.end(), false);
        if (free != taken_.end())
            *free = true;
        return static_cast<unsigned>(free - taken_.begin());
    }
    void give_back(unsigned lane) {
        const std::scoped_lock lock(mutex_);
        taken_[lane] = false;
    }
    [[nodiscard]] bool is_idle() {
        const std::scoped_lock lock(mutex_);
        return std::find(taken_.begin(), taken_.end(), true) == taken_.end();
    }
    [[nodiscard]] Expected<void> close() { return checked(rpmem_close(pool_.release())); }

private:
    OpenPool pool_;
    std::span<std::byte> memory_;
    std::mutex mutex_;
    std::vector<bool> taken_;
};

} // namespace detail

// One lane of a pool, for one thread at a time. Ranges must be within the memory of the pool.
// Otherwise a call fails with EINVAL. A Lane that was moved from can only be destroyed or assigned
// to.
class Lane {
public:
    Lane(Lane&& other) noexcept = default;
    Lane& operator=(Lane&& other) noexcept {
        if (this != &other) {
            give_back();
            session_ = std::move(other.session_);
            number_ = other.number_;
        }
        return *this;
    }
    ~Lane() { give_back(); }

    [[nodiscard]] unsigned number() const noexcept { return number_; }

    // rpmem_persist(3): makes RANGE, and everything that this lane flushed before, durable.
    template <class T, std::size_t N>
    Expected<void> persist(std::span<T, N> range, Words words = Words::strict) {
        return persist_bytes(std::as_bytes(range), words);
    }
    // rpmem_deep_persist(3): like persist(), but down to the target's lowest persistence domain.
    template <class T, std::size_t N>
    Expected<void> deep_persist(std::span<T, N> range) {
        return deep_persist_bytes(std::as_bytes(range));
    }
    // rpmem_flush(3): starts to make RANGE durable. RANGE must not change before drain() returns.
    template <class T, std::size_t N>
    Expected<void> flush(std::span<T, N> range, Words words = Words::strict) {
        return flush_bytes(std::as_bytes(range), words);
    }
    // rpmem_drain(3): waits until everything that this lane flushed is durable.
    Expected<void> drain() { return detail::checked(rpmem_drain(session_->pool(), number_, 0)); }
    // rpmem_read(3): fills TO with the bytes of the target's pool at OFFSET.
    template <class T, std::size_t N>
    requires(std::is_trivially_copyable_v<T> &&
             !std::is_const_v<T>) Expected<void> read(std::span<T, N> to, std::size_t offset) {
        const std::span<std::byte> bytes = std::as_writable_bytes(to);
        return detail::checked(
            rpmem_read(session_->pool(), bytes.data(), offset, bytes.size(), number_));
    }

private:
    friend class Pool;
    Lane(std::shared_ptr<detail::Session> session, unsigned number)
        : session_(std::move(session)), number_(number) {}

    void give_back() {
        if (session_)
            session_->give_back(number_);
        session_.reset();
    }

    // Compares addresses as numbers, because pointers into different objects cannot be compared.
    [[nodiscard]] bool has(std::span<const std::byte> range) const noexcept {
        const auto memory = reinterpret_cast<std::uintptr_t>(session_->memory().data());
        const auto start = reinterpret_cast<std::uintptr_t>(range.data());
        return start >= memory && start - memory <= session_->memory().size();
    }
    [[nodiscard]] std::size_t offset_of(std::span<const std::byte> range) const noexcept {
        return reinterpret_cast<std::uintptr_t>(range.data()) -
               reinterpret_cast<std::uintptr_t>(session_->memory().data());
    }
    [[nodiscard]] static Error foreign_range() {
        return {.number = EINVAL,
                .text = "the range is not in the memory of this pool: pass a span "
                        "of the memory that the pool was created or opened with"};
    }

    // The library checks the end of a range.
    Expected<void> persist_bytes(std::span<const std::byte> range, Words words) {
        if (!has(range))
            return foreign_range();
        return detail::checked(rpmem_persist(session_->pool(), offset_of(range), range.size(),
                                             number_, detail::flags_of(words)));
    }
    Expected<void> deep_persist_bytes(std::span<const std::byte> range) {
        if (!has(range))
            return foreign_range();
        return detail::checked(
            rpmem_deep_persist(session_->pool(), offset_of(range), range.size(), number_));
    }
    Expected<void> flush_bytes(std::span<const std::byte> range, Words words) {
        if (!has(range))
            return foreign_range();
        return detail::checked(rpmem_flush(session_->pool(), offset_of(range), range.size(),
                                           number_, detail::flags_of(words)));
    }

    std::shared_ptr<detail::Session> session_;
    unsigned number_;
};

// A pool on a target, connected to memory of this program. The memory must outlive the Pool and its
// lanes. A Pool that was moved from, or closed, can only be destroyed or assigned to.
class Pool {
public:
    // rpmem_create(3). MEMORY must begin at a page and have whole pages. LANES is the number of
    // lanes that the program wants; lanes() returns the number of the pool. A pool set with OPTION
    // NOHDRS needs no ATTRIBUTES.
    static Expected<Pool> create(const std::string& target, const std::string& pool_set,
                                 std::span<std::byte> memory, unsigned lanes,
                                 const rpmem_pool_attr* attributes = nullptr) {
        RPMEMpool* const pool = rpmem_create(target.c_str(), pool_set.c_str(), memory.data(),
                                             memory.size(), &lanes, attributes);
        return made(pool, memory, lanes);
    }
    // rpmem_open(3). SEEN, if it is not null, receives the attributes of the pool.
    static Expected<Pool> open(const std::string& target, const std::string& pool_set,
                               std::span<std::byte> memory, unsigned lanes,
                               rpmem_pool_attr* seen = nullptr) {
        RPMEMpool* const pool = rpmem_open(target.c_str(), pool_set.c_str(), memory.data(),
                                           memory.size(), &lanes, seen);
        return made(pool, memory, lanes);
    }

    Pool(Pool&& other) noexcept = default;
    Pool& operator=(Pool&& other) noexcept = default;
    ~Pool() = default;

    [[nodiscard]] unsigned lanes() const noexcept { return session_->lanes(); }
    [[nodiscard]] std::span<std::byte> memory() const noexcept { return session_->memory(); }

    // Reserves a lane. Fails with EAGAIN if all are reserved. The destructor of Lane releases it.
    [[nodiscard]] Expected<Lane> lane() {
        const unsigned number = session_->take();
        if (number == session_->lanes())
            return Error{.number = EAGAIN,
                         .text = "all " + std::to_string(number) +
                                 " lanes of the pool are taken: destroy one, or ask for more"};
        return Lane(session_, number);
    }

    // rpmem_set_attr(3).
    Expected<void> set_attributes(const rpmem_pool_attr& attributes) {
        return detail::checked(rpmem_set_attr(session_->pool(), &attributes));
    }

    // rpmem_stats(3). Any thread may call it.
    [[nodiscard]] Expected<rpmem_pool_stats> statistics() const {
        rpmem_pool_stats stats{};
        stats.version = RPMEM_STATS_VERSION;
        if (rpmem_stats(session_->pool(), &stats) != 0)
            return detail::last_error();
        return stats;
    }

    // rpmem_replica_state(3). Any thread may call it.
    [[nodiscard]] Expected<ReplicaStatus> replica_state() const {
        rpmem_replica_state_info info{};
        info.version = RPMEM_REPLICA_STATE_VERSION;
        if (rpmem_replica_state(session_->pool(), &info) != 0)
            return detail::last_error();
        return ReplicaStatus{.state = static_cast<ReplicaState>(info.state),
                             .since = std::chrono::system_clock::time_point(
                                 std::chrono::seconds(static_cast<std::int64_t>(info.since))),
                             .behind_bytes = info.behind_bytes,
                             .catch_up_rate = info.catch_up_rate,
                             .reason = info.reason};
    }

    // rpmem_wait_in_sync(3): fails with ETIMEDOUT after TIMEOUT, from 0 to INT_MAX milliseconds. A
    // longer one counts as INT_MAX. Any thread may call it.
    Expected<void> wait_in_sync(std::chrono::milliseconds timeout) const {
        const auto limit = std::clamp<std::chrono::milliseconds::rep>(timeout.count(), -1, INT_MAX);
        return detail::checked(rpmem_wait_in_sync(session_->pool(), static_cast<int>(limit)));
    }

    // rpmem_close(3), with its result; the destructor ignores the result. Fails with EBUSY, and
    // leaves the pool open, while a Lane of it exists.
    Expected<void> close() {
        if (!session_->is_idle())
            return Error{.number = EBUSY,
                         .text = "lanes of the pool are in use: destroy them before it is closed"};
        return std::exchange(session_, nullptr)->close();
    }

private:
    explicit Pool(std::shared_ptr<detail::Session> session) : session_(std::move(session)) {}

    static Expected<Pool> made(RPMEMpool* opened, std::span<std::byte> memory, unsigned lanes) {
        detail::OpenPool pool(opened);
        if (!pool)
            return detail::last_error();
        return Pool(std::make_shared<detail::Session>(std::move(pool), memory, lanes));
    }

    std::shared_ptr<detail::Session> session_;
};

// rpmem_remove(3). FLAGS: RPMEM_REMOVE_FORCE, RPMEM_REMOVE_POOL_SET.
inline Expected<void> remove(const std::string& target, const std::string& pool_set,
                             int flags = 0) {
    return detail::checked(rpmem_remove(target.c_str(), pool_set.c_str(), flags));
}

// Fails with ENOTSUP if the loaded library cannot serve a program that was built with this header.
inline Expected<void> check_version() {
    const char* const mismatch = rpmem_check_version(RPMEM_MAJOR_VERSION, RPMEM_MINOR_VERSION);
    if (mismatch == nullptr)
        return {};
    return Error{.number = ENOTSUP, .text = mismatch};
}

} // namespace librpmem

#endif // librpmem.hpp
