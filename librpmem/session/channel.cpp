// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/channel.hpp"

#include "common/base/io.hpp"
#include "common/base/text.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <vector>

namespace rpmem::initiator {
namespace {

// Only the end of the error text is kept, because a banner of sshd may precede the cause.
constexpr std::size_t max_error_text = std::size_t{1} << 16;

// Maximum number of bytes of the error text in a message: less than a screen of 24 lines.
constexpr std::size_t max_quoted = 1000;

std::string printable_line(std::string_view line) {
    std::string text;
    std::copy_if(line.begin(), line.end(), std::back_inserter(text),
                 [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

// Returns the lines of TEXT that are not empty, without duplicates: first those of rpmemd.
std::vector<std::string> lines_by_importance(std::string_view text) {
    std::vector<std::string> own;
    std::vector<std::string> others;
    while (!text.empty()) {
        std::string line = printable_line(take_until(text, "\n"));
        auto& lines = line.starts_with("rpmemd: ") ? own : others;
        if (!line.empty() && std::find(lines.begin(), lines.end(), line) == lines.end())
            lines.push_back(std::move(line));
    }
    std::move(others.begin(), others.end(), std::back_inserter(own));
    return own;
}

} // namespace

void Channel::connect(ChannelStreams streams, std::unique_ptr<ChannelBackend> backend,
                      std::string peer) {
    streams_ = std::move(streams);
    backend_ = std::move(backend);
    peer_ = std::move(peer);
    ::fcntl(streams_.error.get(), F_SETFL, O_NONBLOCK);
}

Result<> Channel::send(std::span<const std::byte> data, const Deadline& deadline) {
    return write_fully(streams_.input.get(), data, deadline);
}

// Waits for output and reads it. Returns 0 if it has ended.
Result<std::size_t> Channel::read_output(std::span<std::byte> buffer, const Deadline& deadline) {
    while (true) {
        // The error stream is read too, so that a command does not block on a full stream.
        RPMEM_ASSIGN(const auto ready,
                     wait_readable(streams_.output.get(), deadline, streams_.error.get()));
        if (!ready && deadline.passed())
            return fail(ErrorClass::link_lost, ETIMEDOUT, "no data within the time allowed");
        if (!ready) {
            collect_error_text();
            continue;
        }
        const ssize_t got = ::read(streams_.output.get(), buffer.data(), buffer.size());
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno != EINTR && errno != EAGAIN)
            return fail_errno(ErrorClass::link_lost, errno, "cannot read what the target sent");
    }
}

Result<std::size_t> Channel::receive(std::span<std::byte> buffer, const Deadline& deadline) {
    std::size_t done = 0;
    while (done < buffer.size()) {
        RPMEM_ASSIGN(const std::size_t got, read_output(buffer.subspan(done), deadline));
        if (got == 0)
            break;
        done += got;
    }
    return done;
}

Result<std::string> Channel::receive_some(const Deadline& deadline) {
    std::string text(4096, '\0');
    RPMEM_ASSIGN(const std::size_t got,
                 read_output(std::as_writable_bytes(std::span(text)), deadline));
    text.resize(got);
    return text;
}

std::string Channel::output_there(std::size_t max_size) {
    std::string text(max_size, '\0');
    const auto ready = wait_readable(streams_.output.get(), Deadline(std::chrono::seconds(0)));
    const ssize_t got =
        ready && *ready ? ::read(streams_.output.get(), text.data(), text.size()) : 0;
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

void Channel::collect_error_text() {
    // The command may write without end, so the number of reads is limited. A caller that wants the
    // rest must call this again.
    constexpr int max_reads = 16;
    std::array<char, 4096> buffer;
    for (int i = 0; i < max_reads && streams_.error; ++i) {
        const ssize_t got = ::read(streams_.error.get(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            streams_.error.reset();
            return;
        }
        error_text_.append(buffer.data(), static_cast<std::size_t>(got));
        if (error_text_.size() > max_error_text)
            error_text_.erase(0, error_text_.size() - max_error_text);
    }
}

// rpmemd names the cause in its first lines. Other programs name it in their last lines.
std::string Channel::error_text() const {
    std::vector<std::string> lines = lines_by_importance(error_text_);
    std::size_t size = 0;
    for (const std::string& line : lines)
        size += line.size() + 2;
    const auto others = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
        return !line.starts_with("rpmemd: ");
    });
    auto first_kept = others;
    for (; first_kept != lines.end() && size > max_quoted; ++first_kept)
        size -= first_kept->size() + 2;
    // If even the last line is too long, its beginning is kept.
    if (first_kept == lines.end() && others != lines.end())
        --first_kept;
    lines.erase(others, first_kept);
    std::string joined;
    for (const std::string& line : lines)
        joined += (joined.empty() ? "" : "; ") + line;
    if (joined.size() > max_quoted)
        joined.resize(max_quoted);
    return joined;
}

Result<ExitStatus> Channel::finish(const Deadline& deadline) {
    streams_.input.reset();
    // The command must not block on its last error text.
    while (streams_.error && !deadline.passed()) {
        const auto ready = wait_readable(streams_.error.get(), deadline);
        if (!ready || !*ready)
            break;
        collect_error_text();
    }
    streams_.output.reset();
    if (const auto ended = status(deadline))
        return *ended;
    return fail(ErrorClass::link_lost, ETIMEDOUT, "the remote command did not end in time");
}

void Channel::cut() {
    backend_.reset();
    streams_ = {};
}

} // namespace rpmem::initiator
