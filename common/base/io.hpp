// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing descriptors with a bound on the wait.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rpmem {

// Waits until FD is readable (or at its end). False: the deadline passed, or CANCEL (an eventfd,
// -1 for none) became readable first.
Result<bool> wait_readable(int fd, const Deadline& deadline, int cancel = -1);

// The same until FD takes data, or a connection of it has come about or failed.
Result<bool> wait_writable(int fd, const Deadline& deadline);

// Reads until BUFFER is full or the input ends; returns the number of bytes read. ETIMEDOUT when
// the deadline passes.
Result<std::size_t> read_fully(int fd, std::span<std::byte> buffer, const Deadline& deadline);

// Reads the file FD until TEXT is full or the file ends; then TEXT is as long as what was read. 0
// or a positive errno value.
template <typename Text>
[[nodiscard]] int read_file(int fd, Text& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t got = ::read(fd, text.data() + done, text.size() - done);
        if (got == 0)
            break;
        if (got > 0)
            done += static_cast<std::size_t>(got);
        else if (errno != EINTR)
            return errno;
    }
    text.resize(done);
    return 0;
}

// Writes all of DATA, without SIGPIPE if FD is a socket. ETIMEDOUT when the deadline passes,
// EPIPE when the reader has gone.
Result<> write_fully(int fd, std::span<const std::byte> data, const Deadline& deadline);

// A flag that poll(2) can see. Once raised it stays up.
class Event {
public:
    static Result<Event> make();
    [[nodiscard]] int fd() const { return fd_.get(); }
    void raise() const;
    void clear() const; // until it is raised again

private:
    explicit Event(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

// Explains CODE if a limit of descriptors caused it: names the limit, and says by USE what needs
// them. The text begins with ": "; it is empty for other errors.
[[nodiscard]] std::string limit_behind(int code, const char* use);

struct Pipe {
    UniqueFd read_end;
    UniqueFd write_end;
};
Result<Pipe> make_pipe(); // both ends close-on-exec

// Instead of a pipe where writing to a reader that has gone must not raise SIGPIPE in the
// application.
struct SocketPair {
    UniqueFd ours;
    UniqueFd theirs;
};
Result<SocketPair> make_socket_pair(); // both ends close-on-exec

} // namespace rpmem
