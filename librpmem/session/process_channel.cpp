#include "base/io.hpp"
#include "session/channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

namespace rpmem {
namespace {

// What is kept of the error text: its beginning names the cause.
constexpr std::size_t max_error_text = 2048;

class ProcessChannel final : public Channel {
public:
    ProcessChannel(ChildProcess process, UniqueFd input, UniqueFd output, UniqueFd error)
        : process_(std::move(process)), input_(std::move(input)), output_(std::move(output)),
          error_(std::move(error)) {}

    Result<> send(std::span<const std::byte> data, const Deadline& deadline) override {
        return write_fully(input_.get(), data, deadline);
    }

    Result<std::size_t> receive(std::span<std::byte> buffer, const Deadline& deadline) override {
        return read_fully(output_.get(), buffer, deadline);
    }

    int output_fd() const override { return output_.get(); }
    int error_fd() const override { return error_.get(); }
    void collect_error_text() override;
    std::string error_text() const override;
    Result<ExitStatus> finish(const Deadline& deadline) override;

private:
    ChildProcess process_;
    UniqueFd input_;
    UniqueFd output_;
    UniqueFd error_;
    std::string error_text_;
};

void ProcessChannel::collect_error_text() {
    std::array<char, 512> buffer;
    while (error_) {
        const ssize_t got = ::read(error_.get(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0) {
            error_.reset();
            return;
        }
        const std::size_t room = max_error_text - error_text_.size();
        error_text_.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
    }
}

std::string ProcessChannel::error_text() const {
    std::string joined;
    for (const char c : error_text_) {
        if (c == '\n')
            joined += "; ";
        else if (static_cast<unsigned char>(c) >= ' ')
            joined += c;
    }
    while (joined.ends_with(' ') || joined.ends_with(';'))
        joined.pop_back();
    return joined;
}

Result<ExitStatus> ProcessChannel::finish(const Deadline& deadline) {
    input_.reset();
    // What the command still has to say must not block it.
    while (error_ && !deadline.passed()) {
        const auto ready = wait_readable(error_.get(), deadline);
        if (!ready || !*ready)
            break;
        collect_error_text();
    }
    output_.reset();
    if (const auto status = process_.wait(deadline))
        return *status;
    return fail(ErrorClass::link_lost, ETIMEDOUT, "the remote command did not end in time");
}

struct Duplex {
    UniqueFd ours;
    UniqueFd theirs;
};

// A socket, not a pipe: writing to a command that has ended must not raise SIGPIPE in the
// application.
Result<Duplex> make_input() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot make a socket pair (see the limit 'ulimit -n')");
    return Duplex{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

} // namespace

Result<std::unique_ptr<Channel>> start_process_channel(const std::vector<std::string>& arguments) {
    auto input = make_input();
    if (!input)
        return propagate(std::move(input));
    auto output = make_pipe();
    if (!output)
        return propagate(std::move(output));
    auto error = make_pipe();
    if (!error)
        return propagate(std::move(error));
    auto process = ChildProcess::start(arguments, input->theirs.get(), output->write_end.get(),
                                       error->write_end.get());
    if (!process)
        return propagate(std::move(process));
    ::fcntl(error->read_end.get(), F_SETFL, O_NONBLOCK);
    return std::make_unique<ProcessChannel>(std::move(*process), std::move(input->ours),
                                            std::move(output->read_end),
                                            std::move(error->read_end));
}

} // namespace rpmem
