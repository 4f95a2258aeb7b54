#include "lanes/provider_choice.hpp"

#include "base/fork_listener.hpp"
#include "base/quiet_thread.hpp"
#include "fabric/library.hpp"
#include "fabric/paging.hpp"
#include "fabric/search.hpp"
#include "rdma/fork_safety.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>

namespace rpmem {
namespace {

using fabric::ProviderKind;

struct Candidate {
    ProviderKind kind;
    bool enabled;
    const char* how_to_enable;
};

bool is_taken(ProviderKind kind, const std::optional<wire::Hello>& hello) {
    const auto number = static_cast<std::uint32_t>(on_the_wire(kind));
    if (hello)
        return (hello->providers & wire::provider_bit(number)) != 0;
    return kind != ProviderKind::tcp; // which protocol 0.1 has no number for
}

} // namespace

wire::Provider on_the_wire(ProviderKind kind) {
    switch (kind) {
    case ProviderKind::verbs:
        return wire::Provider::verbs;
    case ProviderKind::tcp:
        return wire::Provider::tcp;
    case ProviderKind::sockets:
        break;
    }
    return wire::Provider::sockets;
}

namespace {

// Set in children: what the parent has opened of a device works in the parent only.
std::atomic<bool> devices_are_the_parents = false;

void remember_in_children() {
    static const ForkListener listener([](void*) { devices_are_the_parents = true; }, nullptr);
}

// What must be settled before libfabric looks at the devices, and what came of it.
struct Preparation {
    Result<> fork_safety;
    std::vector<std::string> notes;
};

Preparation prepare_rdma(const LocalMemory& memory, const Settings& settings) {
    Preparation preparation;
    if (!may_use_rdma(settings) || devices_are_the_parents)
        return preparation;
    remember_in_children();
    const auto safety = settings.fork_safe ? rdma::make_fork_safe() : rdma::fork_safety();
    if (safety)
        preparation.notes.emplace_back(rdma::describe(*safety));
    else if (settings.fork_safe)
        preparation.fork_safety = Failure(safety.error());
    if (auto note = fabric::ask_for_paging(settings.paging, memory.address, memory.size);
        !note.empty())
        preparation.notes.push_back(std::move(note));
    return preparation;
}

// ssh is started soon, with this environment, maybe by several threads.
Preparation prepare(const LocalMemory& memory, const Settings& settings) {
    Preparation preparation = prepare_rdma(memory, settings);
    fabric::freeze_environment();
    return preparation;
}

Result<Providers> find_providers(const std::string& host, const Settings& settings,
                                 const Preparation& preparation) {
    const std::array candidates = {
        Candidate{ProviderKind::verbs, settings.enable_verbs,
                  "verbs is switched off (RPMEM_ENABLE_VERBS=0)"},
        Candidate{ProviderKind::tcp, settings.enable_tcp,
                  "tcp is switched off (RPMEM_ENABLE_TCP=0)"},
        Candidate{ProviderKind::sockets, settings.enable_sockets,
                  "sockets is not switched on (RPMEM_ENABLE_SOCKETS=1 does)"},
    };
    Providers providers;
    for (const Candidate& candidate : candidates) {
        std::string reason = candidate.how_to_enable;
        if (candidate.enabled && candidate.kind == ProviderKind::verbs && devices_are_the_parents) {
            reason = "verbs does not work in a process made by fork(2) from one that had looked "
                     "for RDMA devices (it does after execve(2))";
        } else if (candidate.enabled) {
            auto found =
                fabric::search_to_connect(candidate.kind, host, "", {settings.work_queue_size, 0},
                                          {"RPMEM_DEVICE", settings.device});
            if (found) {
                if (candidate.kind == ProviderKind::verbs) {
                    RPMEM_TRY(preparation.fork_safety);
                    RPMEM_TRY(fabric::check_paging(settings.paging, *found));
                    providers.notes = preparation.notes;
                }
                providers.usable.push_back(std::move(*found));
                continue;
            }
            reason = found.error().text;
        }
        if (!providers.why_not_others.empty())
            providers.why_not_others += "; ";
        providers.why_not_others += reason;
    }
    if (providers.usable.empty())
        return fail(ErrorClass::resource_limit, ENOMEDIUM, "no fabric provider reaches {}: {}",
                    host, providers.why_not_others);
    return providers;
}

} // namespace

bool may_use_rdma(const Settings& settings) {
    std::error_code none; // cannot be looked at: there is none for us
    return settings.enable_verbs && std::filesystem::exists("/dev/infiniband/rdma_cm", none);
}

ProviderSearch::ProviderSearch(const std::string& host, const LocalMemory& memory,
                               const Settings& settings)
    : search_([this, host, settings, preparation = prepare(memory, settings)] {
          try {
              found_.emplace(find_providers(host, settings, preparation));
          } catch (const std::exception& exception) {
              found_.emplace(fail(ErrorClass::resource_limit, ENOMEM, "{}", exception.what()));
          }
      }) {}

ProviderSearch::~ProviderSearch() {
    if (thread_.joinable())
        thread_.join();
}

void ProviderSearch::start_thread() { thread_ = start_without_signals(search_); }

const Result<Providers>& ProviderSearch::found() {
    if (thread_.joinable())
        thread_.join();
    if (!found_)
        search_();
    return *found_;
}

Result<Providers> ProviderSearch::take() {
    static_cast<void>(found());
    return std::move(*found_);
}

Result<fabric::Provider> agree_on_provider(Providers providers, const std::string& host,
                                           const std::optional<wire::Hello>& hello) {
    const auto best = std::find_if(providers.usable.begin(), providers.usable.end(),
                                   [&](const auto& own) { return is_taken(own.kind, hello); });
    if (best != providers.usable.end())
        return std::move(*best);
    std::string own;
    for (const fabric::Provider& provider : providers.usable)
        own += std::string(own.empty() ? "" : ", ") + fabric::name_of(provider.kind);
    const bool lacks_sockets =
        hello && std::any_of(providers.usable.begin(), providers.usable.end(),
                             [](const auto& each) { return each.kind == ProviderKind::sockets; });
    if (lacks_sockets)
        providers.why_not_others +=
            "; sockets is switched off there: it is unsafe, and only \"sockets = yes\" in "
            "/etc/rpmemd/rpmemd.conf or ~/.rpmemd.conf of the target allows it (rpmemd.conf(5))";
    return fail(ErrorClass::resource_limit, ENOMEDIUM,
                "no fabric provider is common to this node and {}: here there is {}, and {}; {}",
                host, own,
                hello ? "the target does not offer it (rpmemctl probe tells why)"
                      : "the rpmemd there is of version 1.12.1 or older, which has only verbs and "
                        "sockets",
                providers.why_not_others);
}

} // namespace rpmem
