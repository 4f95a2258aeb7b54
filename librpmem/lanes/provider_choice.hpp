// SPDX-License-Identifier: BSD-3-Clause
// Chooses the provider for the lanes of a pool: one that this machine has, the settings allow and
// the target accepts.
#pragma once

#include "common/transport/fabric/provider.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "librpmem/settings/settings.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::initiator {

struct ProviderChoice {
    wire::Provider provider;
    std::optional<fabric::Provider> fabric; // nothing for tcp
    std::string why_not_rdma;
    std::vector<std::string> notes; // for the log
    bool tls = false;               // lanes use TLS
};
[[nodiscard]] std::string describe(const ProviderChoice& choice);

struct RdmaFound {
    std::optional<fabric::Provider> provider; // nothing: see why_not
    std::string why_not;
    std::vector<std::string> notes; // for the log
};

// Whether a search can find an RDMA device. Does not load libfabric.
bool may_use_rdma(const Settings& settings);

// Searches for an RDMA device that reaches HOST and can use MEMORY. Fails with ENOTSUP if there is
// one, but the settings do not allow its use.
class RdmaSearch {
public:
    // Sets the environment variables of libfabric. This library does not change the environment
    // after that.
    RdmaSearch(const std::string& host, std::span<std::byte> memory, const Settings& settings);
    ~RdmaSearch();
    RdmaSearch(const RdmaSearch&) = delete;
    RdmaSearch& operator=(const RdmaSearch&) = delete;

    // Runs the search in a thread of its own. A process that has once had a second thread stays a
    // little slower, see docs/performance.md.
    void start_thread();
    // Waits for the end of the search. Without start_thread() the first call runs it.
    const Result<RdmaFound>& found();
    // Like found(), but moves the result to the caller. Call it last, and once.
    Result<RdmaFound> take();

private:
    std::function<void()> search_;
    std::optional<Result<RdmaFound>> found_;
    std::thread thread_;
};

// Fails if the settings allow only RDMA, and it is not available: with ENOMEDIUM or with the error
// of SEARCH.
Result<> require_a_provider(RdmaSearch& search, const std::string& host, const Settings& settings);

// What the target has stated. HELLO is empty for a target of protocol 0.1.
struct TargetProviders {
    const std::optional<wire::Hello>& hello;
    const wire::Agreement& agreement;
};

// Returns the best provider that the target accepts. Fails with ENOMEDIUM. The text says why each
// provider cannot be used.
Result<ProviderChoice> choose_provider(RdmaFound rdma, const std::string& host,
                                       const TargetProviders& target, const Settings& settings);

} // namespace rpmem::initiator
