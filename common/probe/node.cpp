// SPDX-License-Identifier: BSD-3-Clause
#include "common/probe/node.hpp"

#include "common/probe/storage.hpp"
#include "common/rdma/fork_safety.hpp"
#include "common/rdma/memory_lock.hpp"
#include "common/rdma/on_demand_paging.hpp"
#include "common/transport/fabric/library.hpp"

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <string_view>

namespace rpmem::probe {
namespace {

using nlohmann::json;

// Returns null for no limit.
json limit(std::uint64_t value, std::uint64_t unlimited) {
    return value == unlimited ? json(nullptr) : json(value);
}

json limits() {
    const rdma::LockLimit lock = rdma::read_lock_limit();
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0)
        files = {};
    return {{"memlock",
             {{"soft", limit(lock.soft, rdma::LockLimit::unlimited)},
              {"hard", limit(lock.hard, rdma::LockLimit::unlimited)},
              {"used", lock.used},
              {"exempt", lock.exempt},
              {"user", rdma::name_of_user()}}},
            {"nofile",
             {{"soft", limit(files.rlim_cur, RLIM_INFINITY)},
              {"hard", limit(files.rlim_max, RLIM_INFINITY)}}}};
}

json fork_support() {
    const auto safety = rdma::fork_safety();
    if (!safety)
        return {{"safe", nullptr}, {"text", safety.error().text}};
    return {{"safe", *safety != rdma::ForkSafety::unsafe}, {"text", rdma::describe(*safety)}};
}

json ports_of(const rdma::Device& device) {
    json ports = json::array();
    for (const rdma::Port& port : device.ports) {
        json addresses = json::array();
        for (const std::string& interface : port.interfaces)
            for (const std::string& address : rdma::addresses_of(interface))
                addresses.push_back(address);
        ports.push_back({{"number", port.number},
                         {"state", port.state},
                         {"link_layer", port.link_layer},
                         {"interfaces", port.interfaces},
                         {"addresses", std::move(addresses)}});
    }
    return ports;
}

json devices(const rdma::RdmaFacts& facts) {
    json list = json::array();
    for (const rdma::Device& device : facts.devices.devices) {
        const rdma::PagingDevice paging = rdma::paging_device(device.name);
        list.push_back({{"name", device.name},
                        {"driver", device.driver},
                        {"fault", rdma::diagnose_device(device, facts).text},
                        {"on_demand_paging", paging.can_page},
                        {"why_no_paging", paging.why_not},
                        {"ports", ports_of(device)}});
    }
    return list;
}

json storage() {
    const Storage found = examine_storage();
    json list = json::array();
    for (const PersistentDevice& device : found.devices)
        list.push_back({{"name", device.name},
                        {"mode", device.mode},
                        {"size", device.size},
                        {"mount", device.mount},
                        {"dax", device.is_mounted_dax},
                        {"deep_flush", device.deep_flush},
                        {"may_deep_flush", device.may_deep_flush}});
    return {{"devices", std::move(list)},
            {"persistence_domain", found.persistence_domain},
            {"processor", found.processor},
            {"advice", advise_on_appliance(found)}};
}

// Returns an empty text if PROVIDER is usable.
std::string why_not(wire::Provider provider, const Question& question,
                    const Result<rdma::RdmaFacts>& facts) {
    constexpr fabric::QueueSizes any{0, 0};
    if (provider == wire::Provider::tcp)
        return {};
    if (!question.host.empty() || !question.address.empty()) {
        const auto found =
            question.host.empty()
                ? fabric::search_to_listen(provider, question.address, "0", any, question.device)
                : fabric::search_to_connect(provider, question.host, "", any, question.device);
        return found ? "" : found.error().text;
    }
    if (const auto loaded = fabric::load_library(); !loaded)
        return loaded.error().text;
    if (provider != wire::Provider::verbs)
        return {};
    return facts ? rdma::diagnose_devices(*facts).text : facts.error().text;
}

// Removes the name of the provider from an error text, because the report contains it already.
std::string without_prefix(std::string_view text, const std::string& prefix) {
    return std::string(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

json provider(const ProviderSetting& setting, const Question& question,
              const Result<rdma::RdmaFacts>& facts) {
    const std::string name = name_of(setting.provider);
    const std::string reason =
        setting.allowed ? without_prefix(why_not(setting.provider, question, facts), name + ": ")
                        : setting.how_to_allow;
    return {{"name", name}, {"usable", reason.empty()}, {"why_not", reason}};
}

} // namespace

json examine_node(const Question& question, const std::vector<ProviderSetting>& providers) {
    const auto facts = fabric::look_around(question.device);
    json list = json::array();
    for (const ProviderSetting& setting : providers)
        list.push_back(provider(setting, question, facts));
    utsname system{};
    const bool is_known = ::uname(&system) == 0;
    json node = {{"format", report_format},
                 {"host", system.nodename},
                 {"kernel", is_known ? fmt::format("{} {}", system.sysname, system.release) : ""},
                 {"program", question.program},
                 {"libfabric", fabric::library_version()},
                 {"providers", std::move(list)},
                 {"devices", json::array()},
                 {"limits", limits()},
                 {"fork", fork_support()},
                 {"storage", storage()}};
    if (facts)
        node["devices"] = devices(*facts);
    return node;
}

} // namespace rpmem::probe
