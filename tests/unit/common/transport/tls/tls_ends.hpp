// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a TLS connection in one process, on a Unix socket pair, for the tests of TlsStream.
// The Narrow stream between TLS and the socket accepts only a few bytes at a time, which causes
// partial sends and receives at every place.
#pragma once

#include "common/base/io.hpp"
#include "common/transport/tls/tls_stream.hpp"
#include "tests/unit/common/transport/collector.hpp"
#include "tests/unit/common/transport/samples.hpp"

#include <map>

namespace rpmem::transport::tls_ends {

// Never freed, because a TlsContext refers to its PSK.
inline const Secret& psk(int first = 1) {
    static std::map<int, Secret> all;
    if (!all.contains(first))
        all.emplace(first, Secret::copy_of(samples::count_up<secret_size>(first)).value());
    return all.at(first);
}

inline iovec iovec_at(std::span<const std::byte> bytes) {
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

inline ssize_t send_one(Stream& to, std::span<const std::byte> bytes, bool more = false) {
    const iovec piece = iovec_at(bytes);
    return to.send(std::span(&piece, 1), more);
}

inline ssize_t receive_one(Stream& from, std::span<const std::byte> place) {
    const iovec where = iovec_at(place);
    return from.receive(std::span(&where, 1));
}

// Moves at most STEP bytes per call. Every other call of send() returns -EAGAIN.
class Narrow final : public Stream {
public:
    Narrow(std::unique_ptr<Stream> lower, std::size_t step)
        : lower_(std::move(lower)), step_(step) {}
    ssize_t send(std::span<const iovec> pieces, bool more) override {
        is_shut_ = !is_shut_;
        if (is_shut_)
            return -EAGAIN;
        if (before_send)
            before_send();
        const iovec part{pieces[0].iov_base, std::min(pieces[0].iov_len, step_)};
        return lower_->send(std::span(&part, 1), more);
    }
    ssize_t receive(std::span<const iovec> places) override {
        const iovec part{places[0].iov_base, std::min(places[0].iov_len, step_)};
        return lower_->receive(std::span(&part, 1));
    }
    void finish() override { lower_->finish(); }
    void reset() override { lower_->reset(); }
    void release_in_child() override { lower_->release_in_child(); }
    [[nodiscard]] int fd() const override { return lower_->fd(); }

    std::function<void()> before_send;

private:
    std::unique_ptr<Stream> lower_;
    std::size_t step_;
    bool is_shut_ = false;
};

inline std::unique_ptr<TlsStream> tls_on(TlsRole role, const Secret& key,
                                         std::unique_ptr<Stream> lower,
                                         std::uint64_t records = max_records_of_a_key) {
    const char* const name =
        role == TlsRole::initiator ? "lane 3 of 10.0.0.1 port 999" : "lane 3 of 10.0.0.2";
    return test::value_of(TlsStream::make(test::value_of(TlsContext::make(role, key)),
                                          std::move(lower), name, records));
}

struct Ends {
    std::unique_ptr<TlsStream> initiator;
    std::unique_ptr<TlsStream> target;
};

// STEP is that of Narrow. With 0, both ends use the socket directly.
inline Ends make_ends(const Secret& initiator, const Secret& target, std::size_t step = 0,
                      std::uint64_t records = max_records_of_a_key) {
    auto pair = test::value_of(make_socket_pair());
    const auto lower = [&](UniqueFd socket) -> std::unique_ptr<Stream> {
        auto stream = std::make_unique<SocketStream>(std::move(socket));
        if (step == 0)
            return stream;
        return std::make_unique<Narrow>(std::move(stream), step);
    };
    return {tls_on(TlsRole::initiator, initiator, lower(std::move(pair.ours)), records),
            tls_on(TlsRole::target, target, lower(std::move(pair.theirs)), records)};
}

// Advances both ends until each has succeeded or failed. Returns whether both have succeeded.
inline bool exchange_hello(const Ends& ends) {
    const auto decided = [](TlsStep step) {
        return step == TlsStep::done || step == TlsStep::failed;
    };
    TlsStep initiator = TlsStep::wants_read;
    TlsStep target = TlsStep::wants_read;
    for (int i = 0; i < 10000 && !(decided(initiator) && decided(target)); ++i) {
        initiator = ends.initiator->advance();
        target = ends.target->advance();
    }
    return initiator == TlsStep::done && target == TlsStep::done;
}

inline Ends joined(std::size_t step = 0, std::uint64_t records = max_records_of_a_key) {
    Ends ends = make_ends(psk(), psk(), step, records);
    EXPECT_TRUE(exchange_hello(ends));
    return ends;
}

// Appends all bytes that TO can receive now to HEARD. Returns the errno value of the last call, or
// 0 at the end.
inline int receive_all(Stream& to, Buffer& received, std::size_t place_size = 8192) {
    Buffer place(place_size);
    while (true) {
        const ssize_t got = receive_one(to, place);
        if (got <= 0)
            return static_cast<int>(-got);
        received.insert(received.end(), place.begin(), place.begin() + got);
    }
}

// Sends BYTES, and returns the bytes that TO receives.
inline Buffer carry(Stream& from, Stream& to, std::span<const std::byte> bytes) {
    Buffer received;
    const std::size_t whole = bytes.size();
    for (int vain = 0; vain < 100000 && received.size() < whole; ++vain) {
        const ssize_t sent = send_one(from, bytes);
        EXPECT_TRUE(sent >= 0 || sent == -EAGAIN) << sent;
        if (sent > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
        const std::size_t before = received.size();
        EXPECT_EQ(receive_all(to, received), EAGAIN);
        if (sent > 0 || received.size() > before)
            vain = 0;
    }
    return received;
}

} // namespace rpmem::transport::tls_ends
