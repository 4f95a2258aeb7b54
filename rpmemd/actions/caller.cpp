// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/actions/caller.hpp"

#include "common/base/deadline.hpp"
#include "common/base/io.hpp"
#include "common/base/log.hpp"
#include "common/base/text.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

namespace rpmem::target {
namespace {

// Returns whether the input has ended. Drops input, because the action has read all that it needs.
bool has_ended(int in) {
    std::array<char, 512> dropped;
    pollfd input{.fd = in, .events = POLLIN, .revents = 0};
    while (::poll(&input, 1, 0) > 0) {
        const ssize_t got = ::read(in, dropped.data(), dropped.size());
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return true;
        if (got < 0 && errno == EAGAIN)
            return false;
    }
    return false;
}

std::optional<ExceptRange> range_in(std::string_view line) {
    const auto offset = parse_number<std::uint64_t>(take_until(line, " "));
    const auto length = parse_number<std::uint64_t>(line);
    if (!offset || !length || *length == 0 || *offset + *length < *offset)
        return std::nullopt;
    return ExceptRange{*offset, *offset + *length};
}

class Lines {
public:
    Lines(int fd, std::chrono::milliseconds time) : fd_(fd), time_(time), deadline_(time) {}

    // Returns the next line, or nothing if the input has ended.
    Result<std::optional<std::string>> next() {
        for (auto end = buffer_.find('\n', at_); end == std::string::npos;
             end = buffer_.find('\n', at_)) {
            buffer_.erase(0, at_);
            at_ = 0;
            RPMEM_ASSIGN(const bool readable, wait_readable(fd_, deadline_));
            if (!readable)
                return fail(ErrorClass::link_lost, ETIMEDOUT,
                            "the client did not send all excluded ranges within {} ms",
                            time_.count());
            std::array<char, 65536> more;
            const ssize_t got = ::read(fd_, more.data(), more.size());
            if (got == 0)
                return std::optional<std::string>();
            if (buffer_.size() > more.size())
                return invalid("a line of the excluded ranges is longer than {} bytes: expected "
                               "\"OFFSET LENGTH\"",
                               more.size());
            if (got > 0)
                buffer_.append(more.data(), static_cast<std::size_t>(got));
            else if (errno != EINTR && errno != EAGAIN)
                return fail_errno(ErrorClass::link_lost, errno, "cannot read the ranges");
        }
        const auto end = buffer_.find('\n', at_);
        std::string line = buffer_.substr(at_, end - at_);
        at_ = end + 1;
        return std::optional(std::move(line));
    }

private:
    int fd_;
    std::chrono::milliseconds time_;
    Deadline deadline_;
    std::string buffer_;
    std::size_t at_ = 0;
};

} // namespace

Result<std::vector<ExceptRange>> read_except(int in, std::chrono::milliseconds within) {
    Lines lines(in, within);
    std::vector<ExceptRange> ranges;
    while (true) {
        RPMEM_ASSIGN(const auto line, lines.next());
        if (!line)
            return invalid("the input ended after {} excluded ranges; expected an empty line",
                           ranges.size());
        if (line->empty())
            return ranges;
        const auto range = range_in(*line);
        if (ranges.size() == max_except_ranges)
            return invalid("there are more than {} excluded ranges", max_except_ranges);
        const std::uint64_t first = ranges.empty() ? 0 : ranges.back().end;
        if (!range || range->begin < first)
            return invalid("excluded range {} is \"{}\"; expected \"OFFSET LENGTH\" with an offset "
                           "of {} or more",
                           ranges.size() + 1, printable(*line), first);
        ranges.push_back(*range);
    }
}

Caller::Caller(int in, int out) : in_(has_ended(in) ? -1 : in), out_(out) {}

bool Caller::is_gone() const {
    pollfd output{.fd = out_, .events = 0, .revents = 0};
    if (::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return true;
    return in_ >= 0 && has_ended(in_);
}

} // namespace rpmem::target
