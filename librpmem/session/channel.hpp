// The out-of-band way to a command on the target, whatever carries it.
#pragma once

#include "base/child_process.hpp"
#include "base/deadline.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rpmem {

// One thread at a time. Destroying a channel ends the remote command's input and output at once.
class Channel {
public:
    virtual ~Channel() = default;

    virtual Result<> send(std::span<const std::byte> data, const Deadline& deadline) = 0;
    // Reads until BUFFER is full or the command's output ends; returns the bytes read.
    virtual Result<std::size_t> receive(std::span<std::byte> buffer, const Deadline& deadline) = 0;

    // Readable when output has come or has ended.
    [[nodiscard]] virtual int output_fd() const = 0;
    // Readable when error text has come or has ended; -1: never (any more).
    [[nodiscard]] virtual int error_fd() const = 0;
    // Takes in the error text that is there, without waiting.
    virtual void collect_error_text() = 0;
    // The error text so far (bounded), its lines joined by "; ".
    [[nodiscard]] virtual std::string error_text() const = 0;

    // Ends the input, waits for the command to end, and returns how it did. ETIMEDOUT: it was
    // killed.
    virtual Result<ExitStatus> finish(const Deadline& deadline) = 0;
};

// Starts the program ARGUMENTS (ssh) and talks over its standard input and output.
Result<std::unique_ptr<Channel>> start_process_channel(const std::vector<std::string>& arguments);

} // namespace rpmem
