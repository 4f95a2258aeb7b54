// One replicated pool: a session with the target, its lanes, and the state of both.
//
// What the target is asked when the pool is destroyed depends on how far it came; Pool::become():
//   opening   -> half_made  the target has made it for create()
//   opening   -> open       open() has connected the lanes
//   half_made -> open       create() has, too; until then the target is asked to undo it
#pragma once

#include "common/base/fork_listener.hpp"
#include "common/base/hot.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/persist_message.hpp"
#include "librpmem/dump_exclusion.hpp"
#include "librpmem/lanes/lazy_lanes.hpp"
#include "librpmem/monitor.hpp"
#include "librpmem/route.hpp"
#include "librpmem/session/session.hpp"
#include "librpmem/settings/settings.hpp"

#include <librpmem.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rpmem::initiator {

struct PoolArguments {
    std::string target;
    std::string pool_set;
    std::byte* address;
    std::size_t size;
    unsigned lanes;      // wanted
    std::string command; // that starts the daemon
};

class Pool {
public:
    static Result<std::unique_ptr<Pool>> create(const PoolArguments& arguments,
                                                const rpmem_pool_attr& attributes,
                                                const Settings& settings);
    // ATTRIBUTES, if not null, receives the pool's.
    static Result<std::unique_ptr<Pool>>
    open(const PoolArguments& arguments, rpmem_pool_attr* attributes, const Settings& settings);

    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    [[nodiscard]] unsigned lanes() const { return lane_count_; }
    // For the log: how the memory is used.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
    // For the log, at level warning.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
    // For the log: provider and device; and if it is not RDMA, why not.
    [[nodiscard]] const std::string& description() const { return description_; }
    // The user names RDMA devices, and the description leads elsewhere.
    [[nodiscard]] bool misses_device() const { return misses_device_; }

    RPMEM_HOT Result<> persist(std::size_t offset, std::size_t length, unsigned lane,
                               unsigned flags);
    Result<> deep_persist(std::size_t offset, std::size_t length, unsigned lane);
    Result<> flush(std::size_t offset, std::size_t length, unsigned lane, unsigned flags);
    Result<> drain(unsigned lane, unsigned flags);
    Result<> read(std::byte* destination, std::size_t offset, std::size_t length, unsigned lane);
    Result<> set_attributes(const rpmem_pool_attr& attributes);
    // Whatever it returns, the pool can only be destroyed afterwards.
    Result<> close();
    // This process is a child of the one that opened the pool: every operation is refused, and the
    // pool must not be destroyed, as the parent's lanes and session would end.
    [[nodiscard]] bool inherited() const { return monitor_->inherited(); }

private:
    enum class State { opening, half_made, open };

    Pool(std::size_t size, const Settings& settings) : size_(size), settings_(settings) {}
    // What is asked of the target, and how the lanes will get there.
    struct Plan {
        ProviderChoice choice;
        unsigned lanes;
        std::size_t inline_size = 0; // bytes in a message, over fabrics
    };
    Result<Plan> start_session(const PoolArguments& arguments);
    void become(State next) { state_ = next; }
    Result<> connect(const PoolArguments& arguments, const wire::InBandAttributes& in_band,
                     const Plan& plan);
    Result<std::unique_ptr<LazyLanes>> connect_lanes(const PoolArguments& arguments,
                                                     const wire::InBandAttributes& in_band,
                                                     const Plan& plan);

    template <typename Operate>
    Result<> on_lane(const char* call, unsigned index, Operate operate);
    template <typename Operate>
    Result<> on_range(const char* call, std::size_t offset, std::size_t length, unsigned lane,
                      unsigned flags, Operate operate);
    [[nodiscard]] bool sees_loss() const noexcept;
    [[nodiscard]] bool is_writable(std::size_t offset, std::size_t length, unsigned lane,
                                   unsigned flags) const;
    [[nodiscard]] Failure bad_range(const char* call, std::size_t offset, std::size_t length,
                                    unsigned lane, unsigned flags) const;
    [[nodiscard]] Failure bad_lane(const char* call, unsigned lane) const;
    // Of a pool that is lost: the first reason, whoever found it.
    [[nodiscard]] Failure lost(const char* call);
    [[nodiscard]] Result<> unless_lost(const char* call); // looks
    [[nodiscard]] std::optional<Error> loss_behind(const Error& error);
    // What is to be said of an operation of LANE that returned CODE.
    [[nodiscard]] Result<> checked(const char* call, const FrameLane& lane, int code) {
        if (code != 0) [[unlikely]]
            return broken(call, lane, code);
        return {};
    }
    [[nodiscard]] Result<> checked(const char* call, Result<> asked);
    [[nodiscard]] Failure broken(const char* call, const FrameLane& lane, int code);

    std::size_t size_;
    Settings settings_;
    std::string host_;
    std::vector<std::string> notes_;
    std::vector<std::string> warnings_;
    std::string description_;
    bool misses_device_ = false;
    State state_ = State::opening;
    std::size_t first_writable_ = 0; // behind the header that the target keeps; or nothing is
    unsigned lane_count_ = 0;
    std::unique_ptr<Route> route_; // while the pool is being opened
    std::unique_ptr<Session> session_;
    std::unique_ptr<Monitor> monitor_;
    std::unique_ptr<LazyLanes> lanes_;          // they use the monitor's descriptor: goes first
    std::optional<ForkListener> in_children_;   // of a pool that is open
    std::optional<DumpExclusion> out_of_dumps_; // as well
};

} // namespace rpmem::initiator
