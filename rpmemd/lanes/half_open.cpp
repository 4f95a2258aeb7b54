#include "lanes/half_open.hpp"

#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace rpmem::target {
namespace {

// At once: more than the lanes that honest clients connect at one time.
constexpr std::size_t most_half_open = 64;
// A client's library says what it wants together with its connection.
constexpr std::chrono::seconds longest_half_open(10);
constexpr std::chrono::seconds between_looks(1);
// Providers with a thread of their own tell nobody of a connection before they know what it is for.
constexpr std::chrono::seconds between_idle_looks(5);

struct End {
    in6_addr address{};
    in_port_t port = 0; // in network order
};

// False: no address of IP.
bool read_end(const sockaddr_storage& name, End& end) {
    if (name.ss_family == AF_INET) {
        const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(name);
        std::memcpy(&end.address, &ipv4.sin_addr, sizeof(ipv4.sin_addr));
        end.port = ipv4.sin_port;
    } else if (name.ss_family == AF_INET6) {
        const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(name);
        end.address = ipv6.sin6_addr;
        end.port = ipv6.sin6_port;
    } else {
        return false;
    }
    return true;
}

bool is_same(const End& left, const End& right) {
    return left.port == right.port &&
           std::memcmp(&left.address, &right.address, sizeof(left.address)) == 0;
}

// The other end of FD, if that is a connection to PORT.
std::optional<End> peer_at(int fd, std::uint16_t port) {
    sockaddr_storage own{};
    sockaddr_storage peer{};
    socklen_t own_size = sizeof(own);
    socklen_t peer_size = sizeof(peer);
    End here;
    End there;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
        !read_end(own, here) || here.port != htons(port) ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
        !read_end(peer, there))
        return std::nullopt;
    return there;
}

std::vector<int> descriptors_in(DIR* directory) {
    std::vector<int> descriptors;
    if (!directory)
        return descriptors;
    ::rewinddir(directory);
    while (const dirent* const entry = ::readdir(directory)) {
        int fd = -1;
        std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), fd);
        descriptors.push_back(fd);
    }
    return descriptors;
}

} // namespace

HalfOpen::HalfOpen() : own_descriptors_(::opendir("/proc/self/fd")) {}

void HalfOpen::CloseDirectory::operator()(DIR* directory) const { ::closedir(directory); }

bool HalfOpen::is_due(Clock::time_point now) const { return now - looked_ >= between_looks; }

unsigned HalfOpen::look(std::uint16_t port, const std::vector<sockaddr_storage>& lanes,
                        Clock::time_point now) {
    // A new connection may have come as soon as the last look was over.
    const auto since = std::max(looked_, now - between_idle_looks);
    looked_ = now;
    std::vector<Connection> found;
    for (const int fd : descriptors_in(own_descriptors_.get())) {
        const auto peer = peer_at(fd, port);
        struct stat status {};
        const bool is_lane =
            peer && std::any_of(lanes.begin(), lanes.end(), [&](const sockaddr_storage& lane) {
                End end;
                return read_end(lane, end) && is_same(end, *peer);
            });
        if (!peer || is_lane || ::fstat(fd, &status) != 0)
            continue;
        const auto before = std::find_if(
            connections_.begin(), connections_.end(),
            [&](const Connection& connection) { return connection.inode == status.st_ino; });
        found.push_back({status.st_ino, before == connections_.end() ? since : before->since, fd});
    }
    std::stable_sort(
        found.begin(), found.end(),
        [](const Connection& left, const Connection& right) { return left.since < right.since; });
    unsigned ended = 0;
    while (ended < found.size() && (found.size() - ended > most_half_open ||
                                    now - found[ended].since >= longest_half_open)) {
        // libfabric, which has the descriptor, closes it when reading fails. After shutdown(2) it
        // would read the end again and again.
        const sockaddr none{AF_UNSPEC, {}};
        static_cast<void>(::connect(found[ended].fd, &none, sizeof(none)));
        ++ended;
    }
    connections_.assign(found.begin() + ended, found.end());
    return ended;
}

std::chrono::milliseconds HalfOpen::until_next() const {
    return connections_.empty() ? between_idle_looks : between_looks;
}

} // namespace rpmem::target
