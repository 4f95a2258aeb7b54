// The kernel that both ends call: sockets, epoll(7), eventfd(2) and poll(2) on the simulated
// network and clock. What it is asked comes from system_functions.cpp.
#pragma once

#include "tests/simulation/network.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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
    ~SimulatedSystem();
    SimulatedSystem(const SimulatedSystem&) = delete;
    SimulatedSystem& operator=(const SimulatedSystem&) = delete;

    // From now on all that is called in this process comes here. Null: it goes to the kernel.
    void become_current();
    [[nodiscard]] static SimulatedSystem* current();
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

    int open_socket();
    int listen(int fd);
    int connect(int fd, std::uint16_t port);
    int accept(int fd);
    ssize_t send(int fd, std::span<const iovec> pieces, bool more);
    ssize_t receive(int fd, std::span<const iovec> places);
    int finish(int fd);
    void reset_on_close(int fd) { at(fd).resets = true; }
    int take_error(int fd);
    int close(int fd);

    int open_flag(); // in the place of eventfd(2)
    [[nodiscard]] bool is_raised(int fd) { return world_.is_raised(at(fd).flag); }
    void set_flag(int fd, bool raised);
    void lose_next_flag() { loses_flag_ = true; } // a fault: it is raised, and nobody sees it
    int open_epoll();
    int change_epoll(int epoll, int operation, int fd, const epoll_event* event);
    int events_of(int epoll, std::span<epoll_event> events);
    int poll(std::span<pollfd> fds, int milliseconds);

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
    int add(Descriptor descriptor);
    void reaches(int fd);
    void is_answered(int fd);
    void arrives(int fd);
    [[nodiscard]] short state_of(int fd);
    void set_waiter(int fd, Fiber* fiber);

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
