// A connection that is another one. What is derived from it changes a little.
#pragma once

#include "common/transport/transport.hpp"
#include "tests/simulation/simulated_medium.hpp"

#include <memory>
#include <utility>

namespace rpmem::simulation {

class ForwardingConnection : public transport::Connection {
public:
    explicit ForwardingConnection(std::unique_ptr<transport::Connection> inner)
        : inner_(std::move(inner)) {}

    transport::PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                               transport::More more) override {
        return inner_->post(header, piece, more);
    }
    std::size_t poll(transport::Receiver& receiver) override { return inner_->poll(receiver); }
    [[nodiscard]] bool unsent() const override { return inner_->unsent(); }
    [[nodiscard]] std::uint64_t released() const override { return inner_->released(); }
    void close() override { inner_->close(); }
    void release_in_child() override { inner_->release_in_child(); }
    [[nodiscard]] bool ended() const override { return inner_->ended(); }
    [[nodiscard]] const transport::ConnectionFailure& failure() const override {
        return inner_->failure();
    }
    [[nodiscard]] int fd() const override { return inner_->fd(); }
    void receive_in(std::span<std::byte> buffer) override { inner_->receive_in(buffer); }

private:
    std::unique_ptr<transport::Connection> inner_;
};

// An initiator's connection that breaks the rules once IS_BAD has become true.
class BadConnection final : public ForwardingConnection {
public:
    BadConnection(std::unique_ptr<transport::Connection> inner, const bool& is_bad)
        : ForwardingConnection(std::move(inner)), is_bad_(is_bad) {}

    transport::PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                               transport::More more) override {
        wire::FrameHeader sent = header;
        sent.number += is_bad_ ? 1 : 0;
        return ForwardingConnection::post(sent, piece, more);
    }

private:
    const bool& is_bad_;
};

// A target's connection, which may not acknowledge anything once the medium has failed.
class WatchedConnection final : public ForwardingConnection {
public:
    WatchedConnection(std::unique_ptr<transport::Connection> inner, SimulatedMedium& medium)
        : ForwardingConnection(std::move(inner)), medium_(medium) {}

    transport::PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                               transport::More more) override {
        if (header.type == wire::FrameType::ack && medium_.has_failed())
            medium_.world().find("an ack goes out after the medium has failed");
        return ForwardingConnection::post(header, piece, more);
    }

private:
    SimulatedMedium& medium_;
};

} // namespace rpmem::simulation
