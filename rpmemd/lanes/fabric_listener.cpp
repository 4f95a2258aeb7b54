// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/lanes/fabric_listener.hpp"

#include "common/transport/fabric/provider.hpp"
#include "common/transport/fabric/search.hpp"

#include <cerrno>

namespace rpmem::target {
namespace {

// Returns whether the kernel refuses to pin this memory for any process. It does so for files on
// persistent memory and, since Linux 6.5, for files of ordinary file systems.
bool is_unfit(const Error& error) { return error.code == EOPNOTSUPP || error.code == EFAULT; }

// Returns the provider for lanes that connect to ADDRESS.
Result<fabric::Provider> search(const FabricServerOptions& options, const std::string& address,
                                const std::string& port, fabric::QueueSizes queues) {
    return fabric::search_to_listen(options.provider, address, port, queues,
                                    {"device", options.device});
}

Result<fabric::Provider> search_all(const FabricServerOptions& options, fabric::QueueSizes queues) {
    auto provider = search(options, options.address, "0", queues);
    if (options.provider == fabric::ProviderKind::verbs)
        for (auto further = options.further_addresses.begin();
             !provider && further != options.further_addresses.end(); ++further)
            if (auto found = search(options, *further, "0", queues))
                return found;
    return provider;
}

} // namespace

Result<std::unique_ptr<FabricListener>> FabricListener::open(const FabricServerOptions& options,
                                                             fabric::QueueSizes queues,
                                                             std::span<std::byte> pool, Log& log) {
    std::unique_ptr<FabricListener> made(new FabricListener);
    if (options.provider == fabric::ProviderKind::verbs)
        if (const auto note = fabric::ask_for_paging(options.paging, pool.data(), pool.size());
            !note.empty())
            log.notice("{}", note);
    RPMEM_ASSIGN(made->provider_, search_all(options, queues));
    RPMEM_TRY(fabric::check_paging(options.paging, made->provider_));
    RPMEM_ASSIGN(made->domain_, fabric::open_domain(made->provider_));
    RPMEM_ASSIGN(made->events_, fabric::EventQueue::open(made->domain_));
    RPMEM_TRY(made->expose(options, pool, log));
    RPMEM_ASSIGN(made->passive_,
                 fabric::PassiveEndpoint::listen(made->domain_, made->provider_, *made->events_));
    if (options.provider != fabric::ProviderKind::verbs)
        made->listen_further(options, queues, log);
    return made;
}

Result<> FabricListener::expose(const FabricServerOptions& options, std::span<std::byte> pool,
                                Log& log) {
    if (options.access == PoolAccess::frames)
        return {};
    auto region = fabric::register_memory(domain_, provider_, pool.data(), pool.size(),
                                          options.read_only ? fabric::Access::remote_read
                                                            : fabric::Access::remote);
    if (region)
        region_ = std::move(*region);
    else if (options.access == PoolAccess::direct || !is_unfit(region.error()))
        RPMEM_TRY(std::move(region));
    else
        log.notice("the pool is served by frames only: {}", region.error().text);
    return {};
}

// A failure here is only a warning, because clients may use other addresses.
void FabricListener::listen_further(const FabricServerOptions& options, fabric::QueueSizes queues,
                                    Log& log) {
    for (const std::string& address : options.further_addresses) {
        if (address == options.address)
            continue;
        auto passive = search(options, address, std::to_string(port()), queues)
                           .and_then([&](const fabric::Provider& provider) {
                               return fabric::PassiveEndpoint::listen(domain_, provider, *events_);
                           });
        if (passive)
            further_.push_back(std::move(*passive));
        else
            log.warning("no lanes are served at {} (setting address): {}", address,
                        passive.error().text);
    }
}

void FabricListener::close() {
    further_.clear();
    passive_.reset();
}

} // namespace rpmem::target
