// A target's connection with a fault, to see that it is found.
#pragma once

#include "tests/simulation/forwarding_connection.hpp"
#include "tests/simulation/plan.hpp"

namespace rpmem::simulation {

class PlantedConnection final : public ForwardingConnection, private transport::Receiver {
public:
    PlantedConnection(std::unique_ptr<transport::Connection> inner, Planted planted)
        : ForwardingConnection(std::move(inner)), planted_(planted) {}

    transport::PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                               transport::More more) override;
    std::size_t poll(transport::Receiver& receiver) override;
    [[nodiscard]] int fd() const override;

private:
    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override {
        return receiver_->begin(header, place, why);
    }
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override {
        receiver_->take(header, position, chunk);
    }
    bool end(const wire::FrameHeader& header, std::string& why) override;

    Planted planted_;
    transport::Receiver* receiver_ = nullptr;
    std::uint64_t acknowledged_ = 0;
    unsigned acks_ = 0;
};

} // namespace rpmem::simulation
