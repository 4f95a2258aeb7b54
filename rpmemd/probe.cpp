// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/probe.hpp"

#include "common/base/medium_kind.hpp"
#include "common/probe/node.hpp"
#include "common/wire/control_messages.hpp"
#include "rpmemd/session/handshake.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace rpmem::target {
namespace {

using nlohmann::json;

constexpr std::array known = {wire::Provider::verbs, wire::Provider::tcp, wire::Provider::sockets};

// Returns why pool set files in DIRECTORY cannot be read, or an empty text.
std::string problem_of(const std::filesystem::path& directory) {
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error))
        return fmt::format("the pool set directory {} {}; create it, or name another one "
                           "(poolset-dir)",
                           directory.native(),
                           error ? "cannot be used: " + error.message() : "is not a directory");
    if (::access(directory.c_str(), R_OK | X_OK) != 0)
        return fmt::format("the pool set directory {} cannot be read: {}", directory.native(),
                           std::strerror(errno));
    return {};
}

// Returns why the medium may lose data, or an empty text if the type of its file system is durable.
std::string medium_text(const std::filesystem::path& directory) {
    const MediumName medium = medium_of(directory.native());
    return medium.kind == MediumKind::lasting ? ""
                                              : medium.file_system + ": " + describe(medium.kind);
}

} // namespace

std::string probe(const Configuration& configuration, const std::string& address,
                  const std::string& version) {
    std::vector<probe::ProviderSetting> providers;
    providers.reserve(known.size());
    for (const wire::Provider provider : known)
        providers.push_back({provider, true, {}});
    json node = probe::examine_node(
        {"rpmemd " + version, {"device", configuration.device}, {}, address}, providers);
    const auto arrival = arrival_addresses(address, configuration.addresses);
    NodeCapabilities capabilities = find_capabilities(arrival, configuration.device);
    limit(capabilities, configuration);
    for (std::size_t i = 0; i < known.size(); ++i) {
        const auto number = static_cast<std::uint32_t>(known[i]);
        node["providers"][i]["offered"] =
            (capabilities.providers & wire::provider_bit(number)) != 0;
    }
    node["daemon"] = {
        {"poolset_dir", configuration.poolset_dir.native()},
        {"poolset_dir_problem", problem_of(configuration.poolset_dir)},
        {"poolset_dir_medium", medium_text(configuration.poolset_dir)},
        {"persist_apm", configuration.persist_apm},
        {"persist_general", configuration.persist_general},
        {"accept_timeout", configuration.accept_timeout.count()},
        {"device", configuration.device},
        {"tls", name_of(configuration.tls)},
        {"require_hello", configuration.require_hello || configuration.tls == UseTls::require},
        {"first_port", configuration.first_port},
        {"last_port", configuration.last_port},
        {"address", arrival.empty() ? "" : arrival.front()},
        {"problem", arrival.empty() ? "the address to listen on is unknown: SSH_CONNECTION is not "
                                      "set on the target, or its third field is not an address; "
                                      "set the option address"
                                    : ""}};
    return node.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace rpmem::target
