// SPDX-License-Identifier: BSD-3-Clause
// The simulated kernel of both ends: sockets, epoll(7), eventfd(2) and poll(2) on the simulated
// network and clock. system_functions.cpp forwards the system calls to it.
#pragma once

#include "tests/simulation/descriptor.hpp"

#include <poll.h>

#include <optional>

namespace rpmem::simulation {

// Real descriptors are smaller than this.
inline constexpr int first_descriptor = 1 << 20;

// Calls return a negative errno value where system calls set errno.
class SimulatedSystem {
public:
    // The network between an initiator and a listener. OPENED is called with each new link.
    struct Path {
        Conditions conditions;
        std::function<void(Link&)> opened;
        // Gets the bytes that an initiator sends before frames. May be empty.
        std::function<void(const Link&, std::span<const iovec>)> note_sent{};
    };
    explicit SimulatedSystem(World& world) : world_(world) {}
    ~SimulatedSystem() {
        if (running_system == this)
            running_system = nullptr;
    }
    SimulatedSystem(const SimulatedSystem&) = delete;
    SimulatedSystem& operator=(const SimulatedSystem&) = delete;

    // From now on, system calls of this process come here. Without current(), the kernel gets them.
    void become_current() { running_system = this; }
    [[nodiscard]] static SimulatedSystem* current() { return running_system; }
    [[nodiscard]] World& world() { return world_; }

    // After add_path(), a port is the index of a path, and all paths lead to the one listener.
    void add_path(Path path) { paths_.push_back(std::move(path)); }
    // After set_path(), each listener has its own port, and all have the same path.
    void set_path(Path path) { common_path_ = std::move(path); }
    // The next TIMES calls of accept() fail, because there is no descriptor.
    void lack_descriptors(unsigned times) { shortages_ = times; }

    struct End {
        Link* link;
        Side side;
    };
    [[nodiscard]] End end(int fd) { return {at(fd).link, at(fd).side}; }

    int open_socket() { return world_.is_in_vacuum() ? -EMFILE : add({.kind = Kind::fresh}); }
    int listen(int fd) {
        at(fd).kind = Kind::listening;
        at(fd).port = common_path_ ? ++last_port_ : std::uint16_t{0};
        listeners_.push_back(fd);
        return 0;
    }
    [[nodiscard]] std::uint16_t port_of_listener(int fd) { return at(fd).port; }
    // Connecting takes three packets. The target can accept the connection after the last one.
    int connect(int fd, std::uint16_t port) {
        if (world_.is_in_vacuum())
            return -ECONNREFUSED;
        if (!common_path_ && port >= paths_.size())
            return -EHOSTUNREACH;
        const Path& path = path_to(port);
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
        if (at(fd).kind != Kind::listening || at(fd).backlog.empty())
            return -EAGAIN;
        if (shortages_ > 0) {
            --shortages_;
            return -EMFILE;
        }
        Link* const link = at(fd).backlog.front();
        at(fd).backlog.erase(at(fd).backlog.begin());
        world_.note("accepts a connection");
        return add({.kind = Kind::connected, .link = link, .side = Side::target});
    }
    ssize_t send(int fd, std::span<const iovec> pieces, bool more) {
        const Descriptor& socket = at(fd);
        if (world_.is_in_vacuum())
            return -EPIPE;
        if (socket.kind != Kind::connected)
            return -EAGAIN;
        if (socket.is_pipe) {
            const ssize_t sent = socket.link->send(socket.side, pieces, more);
            return sent < 0 && sent != -EAGAIN ? -EPIPE : sent;
        }
        const bool is_proving = socket.side == Side::initiator && socket.link->is_new(socket.side);
        const ssize_t sent = socket.link->send(socket.side, pieces, more);
        if (sent > 0 && is_proving && path_to(socket.port).note_sent)
            path_to(socket.port).note_sent(*socket.link, pieces);
        return sent;
    }
    ssize_t receive(int fd, std::span<const iovec> places) {
        const Descriptor& socket = at(fd);
        if (world_.is_in_vacuum())
            return 0;
        if (socket.kind == Kind::connected) {
            const ssize_t got = socket.link->receive(socket.side, places);
            return socket.is_pipe && got < 0 && got != -EAGAIN ? 0 : got;
        }
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
        const Kind kind = std::exchange(closed.kind, Kind::closed);
        closed.file.reset();
        if (kind == Kind::connected && closed.resets)
            closed.link->reset(closed.side);
        else if (kind == Kind::connected)
            closed.link->close(closed.side);
        if (kind == Kind::listening) {
            std::erase(listeners_, fd);
            for (Link* const link : std::exchange(closed.backlog, {}))
                link->reset(Side::target);
        }
        if (kind == Kind::epoll)
            std::erase(epolls_, fd);
        for (const int epoll : epolls_)
            std::erase_if(at(epoll).members, [fd](const auto& each) { return each.first == fd; });
        return 0;
    }

    // Opens one end of a pipe, or of a socket that behaves like one. A loss is an end of file
    // there, not an error.
    int open_pipe(Link& link, Side side, Process* owner) {
        return add({.kind = Kind::connected,
                    .link = &link,
                    .side = side,
                    .is_pipe = true,
                    .owner = owner});
    }
    [[nodiscard]] bool is_pipe(int fd) { return at(fd).is_pipe; }
    Link& make_link(const Conditions& conditions) {
        links_.push_back(std::make_unique<Link>(world_, conditions));
        links_.back()->open();
        return *links_.back();
    }

    // Does the work of pidfd_open(2).
    int open_process(Process& process) { return add({.kind = Kind::process, .watched = &process}); }
    [[nodiscard]] Process* process_of(int fd) { return at(fd).watched; }
    // The kernel ends PROCESS now and closes its descriptors.
    void end(Process& process) {
        if (process.is_dead)
            return;
        let_go(process, [this](int fd) { close(fd); });
    }
    // The machine of PROCESS loses power. Nothing more arrives from it, and its peers get no error.
    void vanish(Process& process) {
        let_go(process, [this](int fd) {
            Descriptor& lost = at(fd);
            if (lost.kind == Kind::connected)
                for (const Side side : {Side::initiator, Side::target})
                    lost.link->silence(side);
            for (Link* const link : lost.backlog)
                link->silence(Side::target);
            lost.kind = lost.kind == Kind::connected ? Kind::closed : lost.kind;
            close(fd);
        });
    }

    int open_file(std::shared_ptr<OpenFile> file) {
        return add({.kind = Kind::file, .file = std::move(file)});
    }
    // Returns null if FD is not a file.
    [[nodiscard]] const std::shared_ptr<OpenFile>& file(int fd) { return at(fd).file; }
    [[nodiscard]] FileSystem& files() { return files_; }
    ssize_t read_file(int fd, std::span<std::byte> place) {
        OpenFile& file = *at(fd).file;
        const auto bytes =
            file.node->bytes().subspan(std::min(file.position, file.node->bytes().size()));
        const std::size_t size = std::min(bytes.size(), place.size());
        std::copy_n(bytes.begin(), size, place.begin());
        file.position += size;
        return static_cast<ssize_t>(size);
    }

    // Does the work of eventfd(2) and signalfd(2).
    int open_flag(bool is_of_signals = false) {
        return add({.kind = Kind::flag, .flag = world_.add_flag(), .is_of_signals = is_of_signals});
    }
    [[nodiscard]] bool is_flag(int fd) { return at(fd).kind == Kind::flag; }
    void send_signal(const Process& process) {
        for (const Descriptor& each : descriptors_)
            if (each.owner == &process && each.is_of_signals && each.kind == Kind::flag)
                world_.set_flag(each.flag, true);
    }
    [[nodiscard]] bool is_raised(int fd) { return world_.is_raised(at(fd).flag); }
    void set_flag(int fd, bool raised) {
        if (!raised || !std::exchange(loses_flag_, false))
            world_.set_flag(at(fd).flag, raised);
    }
    void lose_next_flag() { loses_flag_ = true; } // a planted fault: the next raise is lost
    int open_epoll() {
        epolls_.push_back(add({.kind = Kind::epoll}));
        return epolls_.back();
    }
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
    // Returns ready members, starting at a random one.
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
            const bool is_in_vacuum = world_.is_in_vacuum();
            int found = 0;
            for (pollfd& each : fds) {
                each.revents = 0;
                if (each.fd >= first_descriptor)
                    each.revents = is_in_vacuum
                                       ? each.events
                                       : static_cast<short>(state_of(each.fd) & each.events);
                found += each.revents != 0 ? 1 : 0;
            }
            if (is_in_vacuum && milliseconds != 0)
                world_.yield();
            if (found > 0 || world_.now() >= until || is_in_vacuum)
                return found;
            for (const pollfd& each : fds)
                if (each.fd >= first_descriptor)
                    watch(each.fd, world_.current());
            world_.block(until);
            for (const pollfd& each : fds)
                if (each.fd >= first_descriptor)
                    leave(each.fd, world_.current());
        }
    }

private:
    using Kind = Descriptor::Kind;
    [[nodiscard]] Descriptor& at(int fd) {
        return descriptors_[static_cast<std::size_t>(fd - first_descriptor)];
    }
    int add(Descriptor descriptor) {
        if (!descriptor.owner)
            descriptor.owner = world_.process();
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
        if (listener_of(connecting.port) < 0) {
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
        const int listener = listener_of(at(fd).port);
        if (listener < 0)
            return link.reset(Side::target);
        at(listener).backlog.push_back(&link);
        for (Fiber* const waiter : at(listener).waiters)
            world_.wake(waiter);
    }
    [[nodiscard]] const Path& path_to(std::uint16_t port) const {
        return common_path_ ? *common_path_ : paths_[port];
    }
    [[nodiscard]] int listener_of(std::uint16_t port) {
        for (const int fd : listeners_)
            if (!common_path_ || at(fd).port == port)
                return fd;
        return -1;
    }
    template <typename LetGo>
    void let_go(Process& process, LetGo let_go_of) {
        process.is_dead = true;
        process.is_stopped = false;
        for (std::size_t i = 0; i < descriptors_.size(); ++i)
            if (descriptors_[i].owner == &process && descriptors_[i].kind != Kind::closed)
                let_go_of(first_descriptor + static_cast<int>(i));
        for (const Descriptor& each : descriptors_)
            if (each.watched == &process)
                for (Fiber* const waiter : each.waiters)
                    world_.wake(waiter);
        world_.look_again_at(process);
    }
    // Returns events of poll(2). Those of epoll(7) have the same values.
    [[nodiscard]] short state_of(int fd) {
        const Descriptor& asked = at(fd);
        int state = 0;
        switch (asked.kind) {
        case Kind::listening:
            state = asked.backlog.empty() ? 0 : POLLIN;
            break;
        case Kind::connecting:
            state = asked.error != 0 ? POLLOUT : 0;
            break;
        case Kind::connected:
            state = (asked.link->is_readable(asked.side) ? POLLIN : 0) |
                    (asked.link->has_hung_up(asked.side) ? POLLRDHUP : 0) |
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
        case Kind::process:
            state = asked.watched->is_dead ? POLLIN : 0;
            break;
        case Kind::closed:
        case Kind::fresh:
        case Kind::file:
            break;
        }
        return static_cast<short>(state);
    }
    // Registers FIBER to be woken for FD. Flags need no registration, because they wake all fibers.
    void watch(int fd, Fiber* fiber) {
        Descriptor& watched = at(fd);
        if (watched.link)
            watched.link->add_waiter(watched.side, fiber);
        else
            watched.waiters.push_back(fiber);
        for (const auto& [member, wanted] : watched.members)
            watch(member, fiber);
    }
    // The opposite of watch(). Members may have been removed meanwhile.
    void leave(int fd, Fiber* fiber) {
        Descriptor& watched = at(fd);
        if (watched.link)
            watched.link->remove_waiter(watched.side, fiber);
        std::erase(watched.waiters, fiber);
        for (const auto& [member, wanted] : watched.members)
            leave(member, fiber);
    }

    static inline SimulatedSystem* running_system = nullptr;

    World& world_;
    std::vector<Path> paths_;
    std::vector<std::unique_ptr<Link>> links_;
    std::vector<Descriptor> descriptors_;
    std::optional<Path> common_path_;
    std::uint16_t last_port_ = 0;
    std::vector<int> listeners_;
    std::vector<int> epolls_;
    FileSystem files_;
    unsigned shortages_ = 0;
    bool loses_flag_ = false;
};

} // namespace rpmem::simulation
