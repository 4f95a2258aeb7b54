// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/log_channel.hpp"

#include "common/base/log_file.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include <cstring>
#include <utility>

namespace rpmem::target {
namespace {

UniqueFd connect_to_syslog() {
    UniqueFd log(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, _PATH_LOG, sizeof(address.sun_path) - 1);
    if (::connect(log.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        log.reset();
    return log;
}

} // namespace

RefusalLog open_log_channel(const Configuration& configuration, int priority) {
    if (configuration.use_syslog)
        return {connect_to_syslog(), fmt::format("<{}>", LOG_DAEMON | priority)};
    auto file = open_log_file(configuration.log_file);
    return {file ? std::move(*file) : UniqueFd(), {}};
}

} // namespace rpmem::target
