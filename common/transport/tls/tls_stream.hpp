// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 over another stream. The caller advances the handshake until it is done. Then this is a
// stream like any other. It never blocks, and does not allocate after the handshake. OpenSSL does
// not access the socket, because its socket BIO raises SIGPIPE. The encrypted bytes are in the two
// buffers of a BIO pair.
//
//   state             | next              | when
//   handshake         | open              | the peer has the PSK of the session
//   handshake         | failed            | the peer has another PSK, violates TLS, or has
//                     |                   | disconnected
//   open              | finishing         | finish() was called
//   finishing         | close_notify_sent | the lower stream has accepted all bytes; close_notify
//                     |                   | follows
//   close_notify_sent | finished          | the lower stream has accepted close_notify, and is
//                     |                   | finished
#pragma once

#include "common/transport/lane_auth.hpp"
#include "common/transport/tcp/stream.hpp"
#include "common/transport/tls/tls_context.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct bio_st; // BIO
struct ssl_st; // SSL

namespace rpmem::transport {

// A record of TLS 1.3 has 5 bytes before the plaintext, and the type and the tag after it.
inline constexpr std::size_t max_plain_bytes = 16384;
inline constexpr std::size_t record_overhead = 5 + 1 + 16;

enum class TlsStep {
    wants_read,  // continue when fd() is readable
    wants_write, // continue when fd() is writable
    done,        // the peer has the PSK of the session
    failed,      // error() says why; an alert was sent if the network accepted it at once
};

// RFC 8446 allows about 2^24.5 records of one key. This is less than half of that, minus 64 for the
// messages of TLS itself.
inline constexpr std::uint64_t max_records_of_a_key = (std::uint64_t{1} << 23) - 64;

class TlsStream final : public Stream {
public:
    // NAME identifies the lane and its peer in error texts.
    [[nodiscard]] static Result<std::unique_ptr<TlsStream>>
    make(const TlsContext& context, std::unique_ptr<Stream> lower, std::string name,
         std::uint64_t records_of_a_key = max_records_of_a_key);

    // Passes in bytes of TLS that were received before. Returns false if they are more than a
    // handshake can have.
    [[nodiscard]] bool give(ByteView received);
    // Sends the first message of the initiator and receives nothing, because a refusal may arrive
    // next. InitiatorProof::advance() handles it. Pass the bytes that it does not consume to
    // give().
    TlsStep start() { return shake_hands(false); }
    TlsStep advance() { return shake_hands(true); }
    // Returns a value that only the two ends of this connection know. Valid after the handshake.
    [[nodiscard]] const Exporter& exporter() const { return exporter_; }
    // Returns why the handshake, send() or receive() failed.
    [[nodiscard]] Error error() const;

    // Sends a copy of PIECES in records of at most 16 KiB, as many as the buffer has room for, and
    // returns the number of bytes accepted. Returns -EAGAIN while earlier records are pending();
    // send() and receive() then send those first.
    ssize_t send(std::span<const iovec> pieces, bool more) override;
    // Returns 0 only after close_notify. Any other end is -ECONNRESET, and a violation of TLS
    // -EPROTO.
    ssize_t receive(std::span<const iovec> places) override;
    ssize_t receive_kept(std::span<const iovec> places) override;
    [[nodiscard]] bool has_kept() const override { return ended_ || has_something(); }
    void finish() override;
    void reset() override { lower_->reset(); }
    void release_in_child() override { lower_->release_in_child(); }
    [[nodiscard]] int fd() const override { return lower_->fd(); }
    [[nodiscard]] bool pending() const override { return !unsent().empty(); }
    [[nodiscard]] std::string_view reason() const override { return reason_; }

private:
    enum class State { handshake, open, failed, finishing, close_notify_sent, finished };
    class Places;

    TlsStream(TlsRole role, std::unique_ptr<Stream> lower, std::string name,
              std::uint64_t records_of_a_key)
        : role_(role), lower_(std::move(lower)), name_(std::move(name)),
          records_of_a_key_(records_of_a_key) {}
    bool set_up(const TlsContext& context);
    static void note_message(int is_ours, int version, int type, const void* bytes,
                             std::size_t size, ssl_st* ssl, void* stream);
    TlsStep shake_hands(bool receives);
    void check_handshake();
    void enter(State next);
    [[nodiscard]] std::span<std::byte> room() const;
    [[nodiscard]] ByteView unsent() const;
    [[nodiscard]] bool needs_input(int result) const;
    void keep_received(std::size_t bytes);
    std::size_t refill();
    [[nodiscard]] bool has_something() const;
    void decrypt(Places& places);
    ssize_t outcome(const Places& places) const;
    std::size_t copy_pieces(std::span<const iovec> pieces, std::size_t position);
    bool encrypt(std::size_t size);
    void flush(bool more);
    void continue_shutdown();
    void end(int code, std::string reason);
    void fail_tls();
    [[nodiscard]] std::string why_it_failed() const;

    struct Free {
        void operator()(ssl_st* ssl) const;
        void operator()(bio_st* bio) const;
    };

    TlsRole role_;
    std::unique_ptr<Stream> lower_;
    std::string name_;
    std::uint64_t records_of_a_key_;
    State state_ = State::handshake;
    Exporter exporter_{};
    std::uint64_t records_ = 0;          // number of records sent with the current key
    unsigned messages_ = 0;              // messages of TLS itself received since the last data
    std::size_t handshake_bytes_ = 0;    // bytes that the handshake may still receive
    std::optional<unsigned char> alert_; // alert sent by the peer
    std::optional<int> ended_;           // final result of receive(): 0 or an errno value
    int send_code_ = 0;                  // errno value of the failure that ended sending
    std::string reason_;
    std::unique_ptr<bio_st, Free> network_; // the end of the BIO pair that is not OpenSSL's
    std::unique_ptr<ssl_st, Free> ssl_;
    std::array<std::byte, max_plain_bytes> plain_;
};

} // namespace rpmem::transport
