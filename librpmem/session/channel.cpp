// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/channel.hpp"

#include "common/base/io.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rpmem::initiator {
namespace {

// This much of the error text is kept: its beginning names the cause.
constexpr std::size_t max_error_text = 2048;

} // namespace

Channel::Channel(ChannelStreams streams, std::unique_ptr<ChannelBackend> backend, std::string peer)
    : streams_(std::move(streams)), backend_(std::move(backend)), peer_(std::move(peer)) {
    ::fcntl(streams_.error.get(), F_SETFL, O_NONBLOCK);
}

Result<> Channel::send(std::span<const std::byte> data, const Deadline& deadline) {
    return write_fully(streams_.input.get(), data, deadline);
}

Result<std::size_t> Channel::receive(std::span<std::byte> buffer, const Deadline& deadline) {
    std::size_t done = 0;
    while (done < buffer.size()) {
        // A command that has much to say on its error stream must not wait for us to listen.
        RPMEM_ASSIGN(const auto ready,
                     wait_readable(streams_.output.get(), deadline, streams_.error.get()));
        if (!ready && deadline.passed())
            return fail(ErrorClass::link_lost, ETIMEDOUT, "no data within the time allowed");
        if (!ready) {
            collect_error_text();
            continue;
        }
        const ssize_t got =
            ::read(streams_.output.get(), buffer.data() + done, buffer.size() - done);
        if (got == 0)
            break;
        if (got > 0)
            done += static_cast<std::size_t>(got);
        else if (errno != EINTR && errno != EAGAIN)
            return fail_errno(ErrorClass::link_lost, errno, "cannot read what the target sent");
    }
    return done;
}

std::string Channel::output_there(std::size_t most) {
    std::string text(most, '\0');
    const auto ready = wait_readable(streams_.output.get(), Deadline(std::chrono::seconds(0)));
    const ssize_t got =
        ready && *ready ? ::read(streams_.output.get(), text.data(), text.size()) : 0;
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

void Channel::collect_error_text() {
    // There may be no end to it. A caller that waits for more comes again.
    constexpr int most_reads = 16;
    std::array<char, 4096> buffer;
    for (int i = 0; i < most_reads && streams_.error; ++i) {
        const ssize_t got = ::read(streams_.error.get(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            streams_.error.reset();
            return;
        }
        const std::size_t room = max_error_text - error_text_.size();
        error_text_.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
}

std::string Channel::error_text() const {
    std::string joined;
    for (const char c : error_text_) {
        if (c == '\n')
            joined += "; ";
        else if (static_cast<unsigned char>(c) >= ' ' && c != '\x7f')
            joined += c;
    }
    while (joined.ends_with(' ') || joined.ends_with(';'))
        joined.pop_back();
    return joined;
}

Result<ExitStatus> Channel::finish(const Deadline& deadline) {
    streams_.input.reset();
    // The command's last output must not block it.
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

void Channel::release_in_child(bool also_carrier) {
    streams_ = {};
    if (also_carrier && backend_)
        backend_->release_in_child();
}

} // namespace rpmem::initiator
