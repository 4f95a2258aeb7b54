// SPDX-License-Identifier: BSD-3-Clause
// Which provider the lanes of a pool will use: what this node has, what the settings allow, what
// the target takes.
#pragma once

#include "common/transport/fabric/provider.hpp"
#include "common/wire/control_messages.hpp"
#include "common/wire/hello.hpp"
#include "librpmem/settings/settings.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rpmem::initiator {

struct ProviderChoice {
    wire::Provider provider;
    std::optional<fabric::Provider> fabric; // tcp is none
    std::string why_not_rdma;
    std::vector<std::string> notes; // for the log
    bool tls = false;               // lanes use it
};
[[nodiscard]] std::string describe(const ProviderChoice& choice);

// The application's memory, which RDMA devices are to use.
struct LocalMemory {
    std::byte* address;
    std::size_t size;
};

struct RdmaFound {
    std::optional<fabric::Provider> provider; // none: WHY_NOT
    std::string why_not;
    std::vector<std::string> notes; // for the log
};

// Whether a search may find a device for RDMA; without loading libfabric.
bool may_use_rdma(const Settings& settings);

// Looks for a device that reaches HOST. An error (ENOTSUP): there is one, and it may not be used as
// the settings have it.
class RdmaSearch {
public:
    // The environment of the process does not change any more when this has returned.
    RdmaSearch(const std::string& host, const LocalMemory& memory, const Settings& settings);
    ~RdmaSearch();
    RdmaSearch(const RdmaSearch&) = delete;
    RdmaSearch& operator=(const RdmaSearch&) = delete;

    // The search takes place in a thread of its own, while the caller does something else. A
    // process that had a second thread once stays a little slower, see docs/performance.md.
    void start_thread();
    // Waits for the end of the search; without start_thread() it takes place in the first call.
    const Result<RdmaFound>& found();
    Result<RdmaFound> take();

private:
    std::function<void()> search_;
    std::optional<Result<RdmaFound>> found_;
    std::thread thread_;
};

// ENOMEDIUM, or what SEARCH came to: only RDMA may serve as the settings have it, and cannot.
Result<> require_a_provider(RdmaSearch& search, const std::string& host, const Settings& settings);

// The target, as far as its hello tells; nothing for a peer of protocol 0.1.
struct TargetProviders {
    const std::optional<wire::Hello>& hello;
    const wire::Agreement& agreement;
};

// The best one that the target takes. ENOMEDIUM, with the reasons for each.
Result<ProviderChoice> choose_provider(RdmaFound rdma, const std::string& host,
                                       const TargetProviders& target, const Settings& settings);

} // namespace rpmem::initiator
