// SPDX-License-Identifier: BSD-3-Clause
// TLS 1.3 upon another stream. First the handshake is advanced until it is done; from then on this
// is a stream as others are. Nothing here waits, or allocates once the handshake is done. OpenSSL
// touches no socket, because its own BIO for them raises SIGPIPE: the encrypted bytes lie in the
// two buffers of a BIO pair.
//
//   state      | next      | when
//   handshake  | open      | the peer has the PSK of the session
//   handshake  | failed    | it has not, breaks the rules of TLS, or has gone
//   open       | finishing | finish() was called
//   finishing  | said_end  | all that was sent has gone; close_notify follows
//   said_end   | finished  | that has gone, too; the lower stream is finished
#pragma once

#include "common/transport/proof.hpp"
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

// Of TLS 1.3: five bytes before, the type and the tag behind.
inline constexpr std::size_t max_plain_bytes = 16384;
inline constexpr std::size_t record_overhead = 5 + 1 + 16;

enum class TlsStep {
    wants_read,  // go on when fd() is readable
    wants_write, // go on when fd() is writable
    done,        // the peer has the PSK of the session
    failed,      // error() tells why; the peer was told if the network took it at once
};

// AES-GCM is safe for more records of one key; some are left for the messages of TLS itself.
inline constexpr std::uint64_t max_records_of_a_key = (std::uint64_t{1} << 23) - 64;

class TlsStream final : public Stream {
public:
    // NAME: of the lane and its peer, for messages.
    [[nodiscard]] static Result<std::unique_ptr<TlsStream>>
    make(const TlsContext& context, std::unique_ptr<Stream> lower, std::string name,
         std::uint64_t records_of_a_key = max_records_of_a_key);

    // Bytes of TLS that were received before. False: they are more than a handshake has.
    [[nodiscard]] bool give(ByteView received);
    // The initiator's first message goes, and nothing is received: what comes next may be a
    // refusal, which InitiatorProof::advance() takes. What it does not take is for give().
    TlsStep start() { return shake_hands(false); }
    TlsStep advance() { return shake_hands(true); }
    // When it is done: the same at both ends of this connection, and at no other.
    [[nodiscard]] const Exporter& exporter() const { return exporter_; }
    // When it has failed, or send() or receive() have.
    [[nodiscard]] Error error() const;

    // One record of at most 16 KiB, from a copy: PIECES may change meanwhile. While an earlier one
    // is pending() it is sent instead, also by receive().
    ssize_t send(std::span<const iovec> pieces, bool more) override;
    // 0 only if the peer has said that this is the end. Otherwise the end is ECONNRESET, and EPROTO
    // is what breaks the rules of TLS.
    ssize_t receive(std::span<const iovec> places) override;
    ssize_t receive_kept(std::span<const iovec> places) override;
    [[nodiscard]] bool has_kept() const override { return ended_ || has_something(); }
    void finish() override;
    void reset() override { lower_->reset(); }
    [[nodiscard]] int fd() const override { return lower_->fd(); }
    [[nodiscard]] bool pending() const override { return !unsent().empty(); }
    [[nodiscard]] std::string_view reason() const override { return reason_; }

private:
    enum class State { handshake, open, failed, finishing, said_end, finished };
    class Places;

    TlsStream(TlsRole role, std::unique_ptr<Stream> lower, std::string name,
              std::uint64_t records_of_a_key)
        : role_(role), lower_(std::move(lower)), name_(std::move(name)),
          records_of_a_key_(records_of_a_key) {}
    bool set_up(const TlsContext& context);
    static void heard(int is_ours, int version, int type, const void* bytes, std::size_t size,
                      ssl_st* ssl, void* stream);
    TlsStep shake_hands(bool receives);
    void check_handshake();
    void enter(State next);
    [[nodiscard]] std::span<std::byte> room() const;
    [[nodiscard]] ByteView unsent() const;
    [[nodiscard]] bool is_dry(int result) const;
    void keep_received(std::size_t bytes);
    std::size_t refill();
    [[nodiscard]] bool has_something() const;
    void decrypt(Places& places);
    ssize_t outcome(const Places& places) const;
    std::size_t copy_pieces(std::span<const iovec> pieces, std::size_t position);
    bool encrypt(std::size_t size);
    void flush(bool more);
    void go_on_ending();
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
    std::uint64_t records_ = 0;          // sent with the key that is in use
    unsigned messages_ = 0;              // of TLS itself, received since the last data
    std::size_t handshake_bytes_ = 0;    // that may still come
    std::optional<unsigned char> alert_; // that the peer sent
    std::optional<int> ended_;           // what receive() says from now on: 0 or an errno value
    int send_code_ = 0;                  // why nothing can be sent any more
    std::string reason_;
    std::unique_ptr<bio_st, Free> network_; // the end of the BIO pair that is not OpenSSL's
    std::unique_ptr<ssl_st, Free> ssl_;
    std::array<std::byte, max_plain_bytes> plain_;
};

} // namespace rpmem::transport
