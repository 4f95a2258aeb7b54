// The kernel that both ends call: sockets, epoll(7), eventfd(2) and poll(2) on the simulated
// network and clock. What it is asked comes from system_functions.cpp.
#pragma once

#include "tests/simulation/network.hpp"

#include <poll.h>
#include <sys/epoll.h>

namespace rpmem::simulation {

// Real descriptors are smaller.
inline constexpr int first_descriptor = 1 << 20;

// Calls return a negative errno value where the kernel's set errno.
class SimulatedSystem {
public:
    // Between what connects to PORT and the listener. OPENED is told of the link at once.
    struct Path {
        Conditions conditions;
        std::function<void(Link&)> opened;
        // What an initiator sends before frames; may be empty.
        std::function<void(const Link&, std::span<const iovec>)> heard{};
    };
    explicit SimulatedSystem(World& world) : world_(world) {}
    ~SimulatedSystem() {
        if (running_system == this)
            running_system = nullptr;
    }
    SimulatedSystem(const SimulatedSystem&) = delete;
    SimulatedSystem& operator=(const SimulatedSystem&) = delete;

    // From now on all that is called in this process comes here. Null: it goes to the kernel.
    void become_current() { running_system = this; }
    [[nodiscard]] static SimulatedSystem* current() { return running_system; }
    [[nodiscard]] World& world() { return world_; }

    // Ports are numbers of paths.
    void add_path(Path path) { paths_.push_back(std::move(path)); }
    // So often there is no descriptor for a connection that has arrived.
    void lack_descriptors(unsigned times) { shortages_ = times; }

    struct End {
        Link* link;
        Side side;
    };
    [[nodiscard]] End end(int fd) { return {at(fd).link, at(fd).side}; }

    int open_socket() { return add({.kind = Kind::fresh}); }
    int listen(int fd) {
        at(fd).kind = Kind::listening;
        listener_ = fd;
        return 0;
    }
    // Three packets: the last one, and what is sent behind it, is what the target accepts.
    int connect(int fd, std::uint16_t port) {
        if (port >= paths_.size())
            return -EHOSTUNREACH;
        const Path& path = paths_[port];
        links_.push_back(std::make_unique<Link>(world_, path.conditions));
        Descriptor& connecting = at(fd);
        connecting.kind = Kind::connecting;
        connecting.link = links_.back().get();
        connecting.port = port;
        path.opened(*connecting.link);
        world_.note("connects to port {}", port);
        connecting.link->pass(Side::target, [this, fd] { reaches(fd); });
        return -EINPROGRESS;
    }
    int accept(int fd) {
        if (fd != listener_ || backlog_.empty())
            return -EAGAIN;
        if (shortages_ > 0) {
            --shortages_;
            return -EMFILE;
        }
        Link* const link = backlog_.front();
        backlog_.erase(backlog_.begin());
        world_.note("accepts a connection");
        return add({.kind = Kind::connected, .link = link, .side = Side::target});
    }
    ssize_t send(int fd, std::span<const iovec> pieces, bool more) {
        const Descriptor& socket = at(fd);
        if (socket.kind != Kind::connected)
            return -EAGAIN;
        const bool is_proving = socket.side == Side::initiator && socket.link->is_new(socket.side);
        const ssize_t sent = socket.link->send(socket.side, pieces, more);
        if (sent > 0 && is_proving && paths_[socket.port].heard)
            paths_[socket.port].heard(*socket.link, pieces);
        return sent;
    }
    ssize_t receive(int fd, std::span<const iovec> places) {
        const Descriptor& socket = at(fd);
        if (socket.kind == Kind::connected)
            return socket.link->receive(socket.side, places);
        return socket.error != 0 ? -socket.error : -EAGAIN;
    }
    int finish(int fd) {
        if (at(fd).kind == Kind::connected)
            at(fd).link->finish(at(fd).side);
        return 0;
    }
    void reset_on_close(int fd) { at(fd).resets = true; }
    int take_error(int fd) { return std::exchange(at(fd).error, 0); }
    int close(int fd) {
        Descriptor& closed = at(fd);
        if (closed.kind == Kind::connected && closed.resets)
            closed.link->reset(closed.side);
        else if (closed.kind == Kind::connected)
            closed.link->close(closed.side);
        if (fd == listener_) {
            listener_ = -1;
            for (Link* const link : std::exchange(backlog_, {}))
                link->reset(Side::target);
        }
        closed.kind = Kind::closed;
        for (Descriptor& other : descriptors_)
            if (other.kind == Kind::epoll)
                std::erase_if(other.members, [fd](const auto& each) { return each.first == fd; });
        return 0;
    }

    int open_flag() {
        return add({.kind = Kind::flag, .flag = world_.add_flag()});
    } // in the place of eventfd(2)
    [[nodiscard]] bool is_raised(int fd) { return world_.is_raised(at(fd).flag); }
    void set_flag(int fd, bool raised) {
        if (!raised || !std::exchange(loses_flag_, false))
            world_.set_flag(at(fd).flag, raised);
    }
    void lose_next_flag() { loses_flag_ = true; } // a fault: it is raised, and nobody sees it
    int open_epoll() { return add({.kind = Kind::epoll}); }
    int change_epoll(int epoll, int operation, int fd, const epoll_event* event) {
        auto& members = at(epoll).members;
        const auto known = std::ranges::find(members, fd, &std::pair<int, epoll_event>::first);
        if (operation == EPOLL_CTL_DEL && known != members.end())
            members.erase(known);
        else if (operation == EPOLL_CTL_MOD && known != members.end())
            known->second = *event;
        else if (operation == EPOLL_CTL_ADD && known == members.end())
            members.emplace_back(fd, *event);
        else
            return operation == EPOLL_CTL_ADD ? -EEXIST : -ENOENT;
        return 0;
    }
    // Those that are ready, from any of them on.
    int events_of(int epoll, std::span<epoll_event> events) {
        const auto& members = at(epoll).members;
        const std::size_t first = members.empty() ? 0 : world_.random().below(members.size());
        std::size_t found = 0;
        for (std::size_t i = 0; i < members.size() && found < events.size(); ++i) {
            const auto& [fd, wanted] = members[(first + i) % members.size()];
            const auto ready = static_cast<std::uint32_t>(state_of(fd)) & wanted.events;
            if (ready != 0)
                events[found++] = {.events = ready, .data = wanted.data};
        }
        return static_cast<int>(found);
    }
    int poll(std::span<pollfd> fds, int milliseconds) {
        const Time until =
            milliseconds < 0 ? never : world_.now() + static_cast<Time>(milliseconds) * millisecond;
        while (true) {
            world_.take_turn();
            int found = 0;
            for (pollfd& each : fds) {
                each.revents = 0;
                if (each.fd >= first_descriptor)
                    each.revents = static_cast<short>(state_of(each.fd) & each.events);
                found += each.revents != 0 ? 1 : 0;
            }
            if (found > 0 || world_.now() >= until)
                return found;
            for (const pollfd& each : fds)
                if (each.fd >= first_descriptor)
                    set_waiter(each.fd, world_.current());
            world_.block(until);
            for (const pollfd& each : fds)
                if (each.fd >= first_descriptor)
                    set_waiter(each.fd, nullptr);
        }
    }

private:
    enum class Kind { closed, fresh, listening, connecting, connected, flag, epoll };
    struct Descriptor {
        Kind kind = Kind::closed;
        Link* link = nullptr;
        Side side = Side::initiator;
        std::uint16_t port = 0; // of an initiator's
        bool resets = false;
        int error = 0; // of connect(2)
        int flag = 0;  // of the world
        std::vector<std::pair<int, epoll_event>> members{};
    };
    [[nodiscard]] Descriptor& at(int fd) {
        return descriptors_[static_cast<std::size_t>(fd - first_descriptor)];
    }
    int add(Descriptor descriptor) {
        descriptors_.push_back(std::move(descriptor));
        return first_descriptor + static_cast<int>(descriptors_.size() - 1);
    }
    void reaches(int fd) {
        at(fd).link->pass(Side::initiator, [this, fd] { is_answered(fd); });
    }
    void is_answered(int fd) {
        Descriptor& connecting = at(fd);
        if (connecting.kind != Kind::connecting)
            return;
        if (listener_ < 0) {
            connecting.error = ECONNREFUSED;
        } else {
            connecting.kind = Kind::connected;
            connecting.link->open();
            connecting.link->pass(Side::target, [this, fd] { arrives(fd); });
        }
        connecting.link->wake(Side::initiator);
    }
    void arrives(int fd) {
        Link& link = *at(fd).link;
        if (listener_ < 0)
            return link.reset(Side::target);
        backlog_.push_back(&link);
        world_.wake(listening_fiber_);
    }
    // The events of poll(2), which are those of epoll(7).
    [[nodiscard]] short state_of(int fd) {
        const Descriptor& asked = at(fd);
        int state = 0;
        switch (asked.kind) {
        case Kind::listening:
            state = backlog_.empty() ? 0 : POLLIN;
            break;
        case Kind::connecting:
            state = asked.error != 0 ? POLLOUT : 0;
            break;
        case Kind::connected:
            state = (asked.link->is_readable(asked.side) ? POLLIN : 0) |
                    (asked.link->is_writable(asked.side) ? POLLOUT : 0);
            break;
        case Kind::flag:
            state = world_.is_raised(asked.flag) ? POLLIN : 0;
            break;
        case Kind::epoll:
            for (const auto& [member, wanted] : asked.members)
                if ((static_cast<std::uint32_t>(state_of(member)) & wanted.events) != 0)
                    state = POLLIN;
            break;
        case Kind::closed:
        case Kind::fresh:
            break;
        }
        return static_cast<short>(state);
    }
    // Whom flags wake is nobody's choice: each looks at what it waits for.
    void set_waiter(int fd, Fiber* fiber) {
        const Descriptor& watched = at(fd);
        if (watched.kind == Kind::listening)
            listening_fiber_ = fiber;
        if (watched.link)
            watched.link->set_waiter(watched.side, fiber);
        for (const auto& [member, wanted] : watched.members)
            set_waiter(member, fiber);
    }

    static inline SimulatedSystem* running_system = nullptr;

    World& world_;
    std::vector<Path> paths_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Descriptor> descriptors_;
    int listener_ = -1;
    std::vector<Link*> backlog_;
    Fiber* listening_fiber_ = nullptr;
    unsigned shortages_ = 0;
    bool loses_flag_ = false;
};

} // namespace rpmem::simulation
