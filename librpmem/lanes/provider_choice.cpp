#include "lanes/provider_choice.hpp"

#include "base/quiet_thread.hpp"

#include <algorithm>
#include <array>
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

Result<Providers> find_providers(const std::string& host, const Settings& settings) {
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
        if (candidate.enabled) {
            auto found =
                fabric::find_to_connect(candidate.kind, host, "", settings.work_queue_size);
            if (found) {
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

bool may_use_rdma(const Settings& settings) {
    std::error_code none; // cannot be looked at: there is none for us
    return settings.enable_verbs && std::filesystem::exists("/dev/infiniband/rdma_cm", none);
}

ProviderSearch::ProviderSearch(const std::string& host, const Settings& settings)
    : thread_(start_without_signals([this, host, settings] {
          try {
              found_.emplace(find_providers(host, settings));
          } catch (const std::exception& exception) {
              found_.emplace(fail(ErrorClass::resource_limit, ENOMEM, "{}", exception.what()));
          }
      })) {}

ProviderSearch::~ProviderSearch() {
    if (thread_.joinable())
        thread_.join();
}

const Result<Providers>& ProviderSearch::found() {
    if (thread_.joinable())
        thread_.join();
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
    return fail(ErrorClass::resource_limit, ENOMEDIUM,
                "no fabric provider is common to this node and {}: here there is {}, and {}; {}",
                host, own,
                hello ? "the target does not have it"
                      : "the rpmemd there is of version 1.12.1 or older, which has only verbs and "
                        "sockets",
                providers.why_not_others);
}

} // namespace rpmem
