// Which provider a pool will use: what this node has, what the settings allow, what the target
// takes.
#pragma once

#include "base/settings.hpp"
#include "fabric/provider.hpp"
#include "wire/control_messages.hpp"
#include "wire/hello.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rpmem {

struct Providers {
    std::vector<fabric::Provider> usable; // the best first; at least one
    std::string why_not_others;
    std::vector<std::string> notes; // for the log
};

// The application's memory, which RDMA devices are to use.
struct LocalMemory {
    std::byte* address;
    std::size_t size;
};

// Whether a search may find a device for RDMA; without loading libfabric.
bool may_use_rdma(const Settings& settings);

// Looks for all providers that the settings allow and that reach HOST. ENOMEDIUM, with the reason
// for each, if there is none; ENOTSUP if RDMA reaches it, and may not be used as the settings have
// it.
class ProviderSearch {
public:
    // What changes the environment of the process is done before this returns.
    ProviderSearch(const std::string& host, const LocalMemory& memory, const Settings& settings);
    ~ProviderSearch();
    ProviderSearch(const ProviderSearch&) = delete;
    ProviderSearch& operator=(const ProviderSearch&) = delete;

    // The search takes place in a thread of its own, while the caller does something else. A
    // process that had a second thread once stays a little slower, see docs/performance.md.
    void start_thread();
    // Waits for the end of the search; without start_thread() it takes place in the first call.
    const Result<Providers>& found();
    Result<Providers> take();

private:
    std::function<void()> search_;
    std::optional<Result<Providers>> found_;
    std::thread thread_;
};

// The best one that the target takes; HELLO is nothing for a peer of protocol 0.1. ENOMEDIUM.
Result<fabric::Provider> agree_on_provider(Providers providers, const std::string& host,
                                           const std::optional<wire::Hello>& hello);

wire::Provider on_the_wire(fabric::ProviderKind kind);

} // namespace rpmem
