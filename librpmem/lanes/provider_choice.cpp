// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/lanes/provider_choice.hpp"

#include "common/base/fork_listener.hpp"
#include "common/base/quiet_thread.hpp"
#include "common/rdma/fork_safety.hpp"
#include "common/transport/fabric/library.hpp"
#include "common/transport/fabric/provider.hpp"
#include "common/transport/fabric/search.hpp"

#include <fmt/ranges.h>

#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>

namespace rpmem::initiator {
namespace {

using fabric::ProviderKind;

// A device that a process has opened does not work in its children made by fork(2).
std::atomic<bool> has_used_devices = false;
std::atomic<bool> devices_are_the_parents = false;

const ForkListener lose_devices([](void*) { devices_are_the_parents = has_used_devices.load(); },
                                nullptr);

// The results of the steps that must precede libfabric's use of the devices.
struct Preparation {
    Result<> fork_safety;
    std::vector<std::string> notes;
};

Preparation prepare_rdma(std::span<std::byte> memory, const Settings& settings) {
    Preparation preparation;
    if (!may_use_rdma(settings) || devices_are_the_parents)
        return preparation;
    has_used_devices = true;
    const auto safety = settings.fork_safe ? rdma::make_fork_safe() : rdma::fork_safety();
    if (safety)
        preparation.notes.emplace_back(rdma::describe(*safety));
    else if (settings.fork_safe)
        preparation.fork_safety = Failure(safety.error());
    if (auto note = fabric::ask_for_paging(settings.paging, memory.data(), memory.size());
        !note.empty())
        preparation.notes.push_back(std::move(note));
    return preparation;
}

// The environment must not change afterwards, because ssh is started with it, possibly by several
// threads.
Preparation prepare(std::span<std::byte> memory, const Settings& settings) {
    Preparation preparation = prepare_rdma(memory, settings);
    fabric::freeze_environment();
    return preparation;
}

Result<RdmaFound> find_rdma(const std::string& host, const Settings& settings,
                            const Preparation& preparation) {
    RdmaFound found;
    if (!settings.enable_verbs) {
        found.why_not = "verbs is switched off (RPMEM_ENABLE_VERBS=0)";
        return found;
    }
    if (devices_are_the_parents) {
        found.why_not = "verbs does not work in a process made by fork(2) from one that had looked "
                        "for RDMA devices (it does after execve(2))";
        return found;
    }
    auto provider =
        fabric::search_to_connect(ProviderKind::verbs, host, "", {settings.work_queue_size, 0},
                                  {"RPMEM_DEVICE", settings.device});
    if (!provider) {
        found.why_not = std::move(provider).error().text;
        return found;
    }
    RPMEM_TRY(preparation.fork_safety);
    RPMEM_TRY(fabric::check_paging(settings.paging, *provider));
    found.provider = std::move(*provider);
    found.notes = preparation.notes;
    return found;
}

bool is_taken(wire::Provider provider, const TargetProviders& target) {
    const auto number = static_cast<std::uint32_t>(provider);
    if (!target.hello)
        return provider != wire::Provider::tcp; // protocol 0.1 has no tcp
    return (target.hello->providers & wire::provider_bit(number)) != 0;
}

std::string why_not_tcp(const TargetProviders& target, const Settings& settings) {
    if (!settings.enable_tcp)
        return "tcp is switched off (RPMEM_ENABLE_TCP=0)";
    if (!target.hello)
        return "the rpmemd there is of version 1.12.1 or older, which does not know tcp";
    if (!is_taken(wire::Provider::tcp, target))
        return "the target does not offer tcp";
    if (settings.tls == UseTls::require && !target.agreement.tls)
        return "RPMEM_TLS=require, and the target has no TLS (\"tls = on\" in its rpmemd.conf)";
    if (!target.agreement.tls && (target.agreement.conditions & wire::condition_tls_required) != 0)
        return "the target requires TLS (\"tls = require\" in its rpmemd.conf): set RPMEM_TLS=on";
    return {};
}

std::string why_not_sockets(const TargetProviders& target, const Settings& settings) {
    if (!settings.enable_sockets)
        return "sockets is not switched on (RPMEM_ENABLE_SOCKETS=1 does)";
    if (!is_taken(wire::Provider::sockets, target))
        return "sockets is switched off there: it is unsafe, and only \"sockets = yes\" in "
               "/etc/rpmemd/rpmemd.conf or ~/.rpmemd.conf of the target allows it "
               "(rpmemd.conf(5))";
    return {};
}

} // namespace

std::string describe(const ProviderChoice& choice) {
    if (choice.fabric)
        return fabric::describe(*choice.fabric);
    return choice.tls ? "tcp with TLS" : "tcp";
}

bool may_use_rdma(const Settings& settings) {
    std::error_code none; // a device that this user cannot see does not count
    return settings.enable_verbs && std::filesystem::exists("/dev/infiniband/rdma_cm", none);
}

RdmaSearch::RdmaSearch(const std::string& host, std::span<std::byte> memory,
                       const Settings& settings)
    : search_([this, host, settings, preparation = prepare(memory, settings)] {
          try {
              found_.emplace(find_rdma(host, settings, preparation));
          } catch (const std::exception& exception) {
              found_.emplace(fail(ErrorClass::resource_limit, ENOMEM, "{}", exception.what()));
          }
      }) {}

RdmaSearch::~RdmaSearch() {
    if (thread_.joinable())
        thread_.join();
}

void RdmaSearch::start_thread() { thread_ = start_without_signals(search_); }

const Result<RdmaFound>& RdmaSearch::found() {
    if (thread_.joinable())
        thread_.join();
    if (!found_)
        search_();
    return *found_;
}

Result<RdmaFound> RdmaSearch::take() {
    static_cast<void>(found());
    return std::move(*found_);
}

Result<> require_a_provider(RdmaSearch& search, const std::string& host, const Settings& settings) {
    if (settings.enable_tcp || settings.enable_sockets)
        return {};
    RPMEM_ASSIGN(const auto& found, search.found());
    if (found.provider)
        return {};
    return fail(ErrorClass::resource_limit, ENOMEDIUM,
                "no provider reaches {}: {}; tcp is switched off (RPMEM_ENABLE_TCP=0), and sockets "
                "is not switched on (RPMEM_ENABLE_SOCKETS=1 does)",
                host, found.why_not);
}

Result<ProviderChoice> choose_provider(RdmaFound rdma, const std::string& host,
                                       const TargetProviders& target, const Settings& settings) {
    const bool only_tls = settings.tls == UseTls::require;
    if (only_tls)
        rdma.why_not = "RPMEM_TLS=require allows lanes over tcp only";
    else if (rdma.provider && is_taken(wire::Provider::verbs, target))
        return ProviderChoice{
            wire::Provider::verbs, std::move(rdma.provider), {}, std::move(rdma.notes)};
    else if (rdma.provider)
        rdma.why_not = "the target does not offer verbs (rpmemctl probe shows why)";
    std::vector<std::string> reasons{rdma.why_not, why_not_tcp(target, settings)};
    if (reasons.back().empty())
        return ProviderChoice{.provider = wire::Provider::tcp,
                              .fabric = std::nullopt,
                              .why_not_rdma = std::move(rdma.why_not),
                              .notes = {},
                              .tls = target.agreement.tls};
    reasons.push_back(only_tls ? "RPMEM_TLS=require allows no sockets"
                               : why_not_sockets(target, settings));
    if (reasons.back().empty()) {
        auto found = fabric::search_to_connect(ProviderKind::sockets, host, "",
                                               {settings.work_queue_size, 0}, {"RPMEM_DEVICE", ""});
        if (found)
            return ProviderChoice{wire::Provider::sockets,
                                  std::move(*found),
                                  fmt::format("{}", fmt::join(reasons, "; ")),
                                  {}};
        reasons.back() = std::move(found).error().text;
    }
    return fail(ErrorClass::resource_limit, ENOMEDIUM,
                "no provider is common to this node and {}: {}", host, fmt::join(reasons, "; "));
}

} // namespace rpmem::initiator
