// SPDX-License-Identifier: BSD-3-Clause
// A connection that forwards all calls to another one. Derived classes change some of them: to
// check a rule, to break the protocol, or to plant a fault.
#pragma once

#include "common/transport/transport.hpp"
#include "tests/simulation/plan.hpp"
#include "tests/simulation/simulated_medium.hpp"

namespace rpmem::simulation {

class ForwardingConnection : public transport::LaneConnection {
public:
    explicit ForwardingConnection(std::unique_ptr<transport::LaneConnection> inner)
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
    void abandon() override { inner_->abandon(); }
    [[nodiscard]] bool ended() const override { return inner_->ended(); }
    [[nodiscard]] const transport::ConnectionFailure& failure() const override {
        return inner_->failure();
    }
    [[nodiscard]] int fd() const override { return inner_->fd(); }
    void receive_in(std::span<std::byte> buffer) override { inner_->receive_in(buffer); }

private:
    std::unique_ptr<transport::LaneConnection> inner_;
};

// An initiator's connection that violates the protocol after IS_BAD has become true.
class BadConnection final : public ForwardingConnection {
public:
    BadConnection(std::unique_ptr<transport::LaneConnection> inner, const bool& is_bad)
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

// A target's connection. An acknowledgement after the medium has failed is a finding.
class WatchedConnection final : public ForwardingConnection {
public:
    WatchedConnection(std::unique_ptr<transport::LaneConnection> inner, SimulatedMedium& medium)
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

// A target's connection with a planted fault, which the simulation must find.
class PlantedConnection final : public ForwardingConnection, private transport::Receiver {
public:
    PlantedConnection(std::unique_ptr<transport::LaneConnection> inner, Planted planted)
        : ForwardingConnection(std::move(inner)), planted_(planted) {}

    transport::PostResult post(const wire::FrameHeader& header, std::span<const std::byte> piece,
                               transport::More more) override {
        if (header.type != wire::FrameType::ack)
            return ForwardingConnection::post(header, piece, more);
        if (header.number <= acknowledged_)
            return transport::PostResult::yes; // it was already sent, too early
        ++acks_;
        if (planted_ == Planted::lost_credit && acks_ == 3)
            return transport::PostResult::yes;
        if (planted_ == Planted::stale_ack && acks_ == 3)
            static_cast<void>(ForwardingConnection::post(
                {.type = wire::FrameType::ack, .number = acknowledged_}, {}, more));
        acknowledged_ = header.number;
        return ForwardingConnection::post(header, piece, more);
    }
    std::size_t poll(transport::Receiver& receiver) override {
        receiver_ = &receiver;
        return ForwardingConnection::poll(*this);
    }
    // With the fault left_early, a connection that has ended has no descriptor to wait for.
    [[nodiscard]] int fd() const override {
        return planted_ == Planted::left_early && ended() ? -1 : ForwardingConnection::fd();
    }

private:
    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override {
        return receiver_->begin(header, place, why);
    }
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override {
        receiver_->take(header, position, chunk);
    }
    bool end(const wire::FrameHeader& header, std::string& why) override {
        if (planted_ == Planted::ack_before_persist &&
            (header.flags & wire::frame_flag::answer_wanted) != 0)
            static_cast<void>(post({.type = wire::FrameType::ack, .number = header.number}, {},
                                   transport::More::none));
        return receiver_->end(header, why);
    }

    Planted planted_;
    transport::Receiver* receiver_ = nullptr;
    std::uint64_t acknowledged_ = 0;
    unsigned acks_ = 0;
};

} // namespace rpmem::simulation
