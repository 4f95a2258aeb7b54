// A connection of a process with itself, whose passive end does nothing: what an RDMA write and a
// read behind it, and a message and its answer, take without any of us.
#pragma once

#include "common/transport/fabric/endpoint.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace rpmem::vm {

class BareFabric {
public:
    static Result<std::unique_ptr<BareFabric>> open(const std::string& address);

    // SIZE bytes are written, and a word is read behind them. False: it failed.
    [[nodiscard]] bool write_and_read(std::size_t size);

private:
    BareFabric() = default;
    Result<> set_up(const std::string& address);
    Result<> connect();

    static constexpr std::size_t memory_size = std::size_t{64} * 1024;
    std::unique_ptr<std::byte[]> source_ = std::make_unique<std::byte[]>(memory_size);
    std::unique_ptr<std::byte[]> target_ = std::make_unique<std::byte[]>(memory_size);
    fabric::Provider here_{};
    fabric::Provider there_{};
    fabric::Domain here_domain_;
    fabric::Domain there_domain_;
    fabric::MemoryRegion source_region_;
    fabric::MemoryRegion target_region_;
    std::unique_ptr<fabric::EventQueue> here_events_;
    std::unique_ptr<fabric::EventQueue> there_events_;
    fabric::CompletionQueue here_completions_;
    fabric::CompletionQueue there_completions_;
    std::unique_ptr<fabric::PassiveEndpoint> listener_;
    fabric::Endpoint here_end_;
    fabric::Endpoint there_end_;
};

} // namespace rpmem::vm
