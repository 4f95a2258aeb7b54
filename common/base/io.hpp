// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes of descriptors, bounded by a deadline.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/result.hpp"
#include "common/base/unique_fd.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rpmem {

// Waits until FD is readable or at its end. Returns false if DEADLINE passes, or if CANCEL, an
// eventfd or -1, becomes readable first.
Result<bool> wait_readable(int fd, const Deadline& deadline, int cancel = -1);

// Waits until FD is writable: it has room for data, or its connect(2) has succeeded or failed.
Result<bool> wait_writable(int fd, const Deadline& deadline);

// Reads until BUFFER is full or the input ends. Returns the number of bytes read. Fails with
// ETIMEDOUT if DEADLINE passes.
Result<std::size_t> read_fully(int fd, std::span<std::byte> buffer, const Deadline& deadline);

// Reads the file FD until TEXT is full or the file ends, and shrinks TEXT to the bytes read.
// Returns 0 or a positive errno value.
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

// Writes all of DATA. Fails with ETIMEDOUT if DEADLINE passes, and with EPIPE if the reader has
// closed its end. Raises no SIGPIPE if FD is a socket.
Result<> write_fully(int fd, std::span<const std::byte> data, const Deadline& deadline);

// Whether NAME in DIRECTORY, a descriptor or AT_FDCWD, refers to the open file FD. Does not follow
// a symbolic link.
[[nodiscard]] bool is_file_at(int fd, int directory, const std::string& name);

// A flag that poll(2) can wait for. It stays raised until clear().
class Event {
public:
    static Result<Event> make();
    [[nodiscard]] int fd() const { return fd_.get(); }
    void raise() const;
    void clear() const;

private:
    explicit Event(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

// If a limit on descriptors caused the error CODE, returns a text that names the limit and, with
// USE, what needs the descriptors. The text begins with ": ". Returns an empty text for other
// errors.
[[nodiscard]] std::string limit_behind(int code, const char* use);

struct Pipe {
    UniqueFd read_end;
    UniqueFd write_end;
};
Result<Pipe> make_pipe(); // both ends close-on-exec

// Used instead of a pipe, because send(2) can suppress the SIGPIPE that a write raises after the
// reader has closed its end.
struct SocketPair {
    UniqueFd ours;
    UniqueFd theirs;
};
Result<SocketPair> make_socket_pair(); // both ends close-on-exec

} // namespace rpmem
