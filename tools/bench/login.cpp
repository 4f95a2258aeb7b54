// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/login.hpp"

#include "common/base/child_process.hpp"
#include "common/base/host_address.hpp"
#include "tools/bench/measuring.hpp"
#include "tools/bench/messages.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace rpmem::bench {
namespace {

struct Login {
    std::string host; // [user@]host, without brackets
    std::string port;
};

Login login_of(const std::string& target) {
    Login login{target, {}};
    const std::size_t colon = target.rfind(':');
    const std::size_t bracket = target.rfind(']');
    const bool one_colon = colon != std::string::npos && target.find(':') == colon;
    if (colon != std::string::npos &&
        (bracket != std::string::npos ? colon > bracket : one_colon)) {
        login.port = target.substr(colon + 1);
        login.host.resize(colon);
    }
    std::erase_if(login.host, [](char c) { return c == '[' || c == ']'; });
    return login;
}

} // namespace

std::vector<std::string> ssh_words(const std::string& target, const std::string& command) {
    const char* const program = std::getenv("RPMEM_SSH");
    const Login login = login_of(target);
    std::vector<std::string> words{program != nullptr && *program != '\0' ? program : "ssh"};
    if (!login.port.empty())
        words.insert(words.end(), {"-p", login.port});
    words.insert(words.end(), {"-T", "-oBatchMode=yes", login.host, command});
    return words;
}

std::string loopback_address_of(const std::string& target) {
    const std::string host = login_of(target).host;
    const auto numbers = resolve(host.substr(host.find('@') + 1), start_timeout);
    const auto address = parse_address(numbers ? numbers->front() : "");
    return address && reach_of(*address) == Reach::same_machine ? numbers->front() : std::string();
}

Result<double> log_in_once(const std::string& target) {
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const Clock::time_point begin = Clock::now();
    RPMEM_ASSIGN(ChildProcess ssh, ChildProcess::start(ssh_words(target, "true"), nothing.get(),
                                                       nothing.get(), STDERR_FILENO));
    const auto status = ssh.wait(Deadline(start_timeout));
    const Clock::time_point end = Clock::now();
    if (!status || status->code != 0)
        return fail(ErrorClass::target_refused, EIO, "'ssh {} true' {}", target,
                    status ? status->text() : "does not end");
    return in_milliseconds(end - begin);
}

} // namespace rpmem::bench
