// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/tls/tls_stream.hpp"

#include "common/transport/openssl.hpp"

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

// Maximum number of messages of TLS itself that may arrive without data between them. A handshake
// has about three, and a KeyUpdate follows after millions of records.
constexpr unsigned max_messages = 32;

// A regular handshake has less than 1 KiB.
constexpr std::size_t max_handshake_bytes = std::size_t{16} * 1024;

// Large enough to make a system call worth while. OpenSSL touches no page of it before its use.
constexpr std::size_t received_size = std::size_t{128} * 1024;
constexpr std::size_t full_record = max_plain_bytes + record_overhead;
// Room for a KeyUpdate before each record, and for an alert after them.
constexpr std::size_t beside_records = 256;
constexpr std::size_t unsent_size = 4 * full_record + beside_records;

constexpr std::string_view exporter_label = "EXPORTER-rpmem-lane-1";

std::size_t size_of(std::span<const iovec> pieces) {
    std::size_t size = 0;
    for (const iovec& piece : pieces)
        size += piece.iov_len;
    return size;
}

} // namespace

// The places for decrypted bytes, which the caller of receive() provides.
class TlsStream::Places {
public:
    explicit Places(std::span<const iovec> places) : places_(places) { skip_full(); }

    [[nodiscard]] bool full() const { return places_.empty(); }
    [[nodiscard]] std::span<std::byte> next() const {
        return std::span(static_cast<std::byte*>(places_[0].iov_base), places_[0].iov_len)
            .subspan(filled_);
    }
    void fill(std::size_t bytes) {
        moved_ += bytes;
        filled_ += bytes;
        skip_full();
    }
    [[nodiscard]] std::size_t moved() const { return moved_; }

private:
    void skip_full() {
        while (!places_.empty() && filled_ == places_[0].iov_len) {
            places_ = places_.subspan(1);
            filled_ = 0;
        }
    }
    std::span<const iovec> places_;
    std::size_t filled_ = 0; // bytes in the first place
    std::size_t moved_ = 0;  // bytes in all places
};

void TlsStream::Free::operator()(ssl_st* ssl) const { ::SSL_free(ssl); }
void TlsStream::Free::operator()(bio_st* bio) const { ::BIO_free(bio); }

Result<std::unique_ptr<TlsStream>> TlsStream::make(const TlsContext& context,
                                                   std::unique_ptr<Stream> lower, std::string name,
                                                   std::uint64_t records_of_a_key) {
    const ErrorQueue queue;
    std::unique_ptr<TlsStream> made(
        new TlsStream(context.role(), std::move(lower), std::move(name), records_of_a_key));
    if (made->set_up(context))
        return made;
    return fail(ErrorClass::resource_limit, ENOMEM, "TLS with {}: out of memory", made->name_);
}

bool TlsStream::set_up(const TlsContext& context) {
    ssl_.reset(::SSL_new(context.get()));
    BIO* inside = nullptr;
    BIO* outside = nullptr;
    if (!ssl_ || ::BIO_new_bio_pair(&inside, unsent_size, &outside, received_size) != 1)
        return false;
    ::SSL_set_bio(ssl_.get(), inside, inside); // takes ownership
    network_.reset(outside);
    handshake_bytes_ = max_handshake_bytes;
    ::SSL_set_msg_callback(ssl_.get(), note_message);
    SSL_set_msg_callback_arg(ssl_.get(), this);
    if (role_ == TlsRole::initiator)
        ::SSL_set_connect_state(ssl_.get());
    else
        ::SSL_set_accept_state(ssl_.get());
    return true;
}

void TlsStream::note_message(int is_ours, int, int type, const void* bytes, std::size_t size,
                             ssl_st*, void* stream) {
    auto& self = *static_cast<TlsStream*>(stream);
    if (is_ours != 0 ||
        (type != SSL3_RT_HANDSHAKE && type != SSL3_RT_ALERT && type != SSL3_RT_CHANGE_CIPHER_SPEC))
        return;
    if (type == SSL3_RT_ALERT && size == 2)
        self.alert_ = static_cast<const unsigned char*>(bytes)[1];
    if (++self.messages_ > max_messages) // drops the received bytes before OpenSSL processes them
        static_cast<void>(BIO_reset(self.network_.get()));
}

void TlsStream::enter(State next) { state_ = next; }

// Returns the room for received bytes. During the handshake, this is at most what the handshake may
// still receive.
std::span<std::byte> TlsStream::room() const {
    char* place = nullptr;
    const int size = std::max(::BIO_nwrite0(network_.get(), &place), 0);
    const std::span<std::byte> room(reinterpret_cast<std::byte*>(place),
                                    static_cast<std::size_t>(size));
    return state_ == State::handshake ? room.first(std::min(room.size(), handshake_bytes_)) : room;
}

void TlsStream::keep_received(std::size_t bytes) {
    char* place = nullptr;
    static_cast<void>(::BIO_nwrite(network_.get(), &place, static_cast<int>(bytes)));
    handshake_bytes_ -= std::min(handshake_bytes_, bytes);
}

ByteView TlsStream::unsent() const {
    char* place = nullptr;
    const int size = std::max(::BIO_nread0(network_.get(), &place), 0);
    return {reinterpret_cast<const std::byte*>(place), static_cast<std::size_t>(size)};
}

// Returns whether a call with this RESULT only needs more input, and the peer is within its limits.
bool TlsStream::needs_input(int result) const {
    return messages_ <= max_messages &&
           ::SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ &&
           (state_ != State::handshake || handshake_bytes_ > 0);
}

bool TlsStream::give(ByteView received) {
    const std::span<std::byte> place = room();
    if (received.size() > place.size())
        return false;
    std::ranges::copy(received, place.begin());
    keep_received(received.size());
    return true;
}

TlsStep TlsStream::shake_hands(bool receives) {
    const ErrorQueue queue;
    while (state_ != State::failed) {
        if (state_ == State::handshake) {
            if (const int result = ::SSL_do_handshake(ssl_.get()); result == 1)
                check_handshake();
            else if (!needs_input(result))
                fail_tls();
        }
        flush(false);
        if (send_code_ != 0 && state_ != State::failed)
            end(send_code_, strerror(send_code_));
        if (ended_ && *ended_ != 0)
            enter(State::failed);
        if (state_ == State::failed)
            break;
        if (pending())
            return TlsStep::wants_write;
        if (state_ == State::open)
            return TlsStep::done;
        if (!receives)
            return TlsStep::wants_read;
        if (refill() == 0 && !ended_)
            return TlsStep::wants_read;
    }
    return TlsStep::failed;
}

// Fails unless the handshake used the PSK, because only the PSK authenticates the peer.
void TlsStream::check_handshake() {
    SSL* const ssl = ssl_.get();
    const SSL_CIPHER* const suite = ::SSL_get_current_cipher(ssl);
    if (::SSL_session_reused(ssl) != 1 || ::SSL_version(ssl) != TLS1_3_VERSION || !suite ||
        ::SSL_CIPHER_get_id(suite) != TLS1_3_CK_AES_128_GCM_SHA256) {
        end(EPROTO, "the peer did not use the PSK of this session");
        return;
    }
    if (::SSL_export_keying_material(ssl, reinterpret_cast<unsigned char*>(exporter_.data()),
                                     exporter_.size(), exporter_label.data(), exporter_label.size(),
                                     nullptr, 0, 0) != 1) {
        end(ENOMEM, "out of memory");
        return;
    }
    enter(State::open);
}

// Receives encrypted bytes and returns their number. Returns 0 if there are none now, or at the
// end.
std::size_t TlsStream::refill() {
    const std::span<std::byte> where = room();
    const iovec place{where.data(), where.size()};
    const ssize_t got = lower_->receive(std::span(&place, 1));
    if (got > 0)
        keep_received(static_cast<std::size_t>(got));
    else if (got == 0)
        end(ECONNRESET, state_ == State::handshake ? "the peer ended the connection"
                                                   : "the connection ended without close_notify");
    else if (got != -EAGAIN)
        end(static_cast<int>(-got), strerror(static_cast<int>(-got)));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
}

ssize_t TlsStream::receive(std::span<const iovec> where) {
    flush(false);
    Places places(where);
    // Bounds the work of one call. A tiny record takes as much time as a full one, and other
    // connections must not wait for a peer that sends many of them.
    std::size_t allowed = 2 * size_of(where) + received_size;
    while (true) {
        decrypt(places);
        if (places.full() || ended_ || allowed == 0)
            break;
        const std::size_t wanted = room().size();
        const std::size_t got = refill();
        if (got == 0)
            break;
        allowed -= std::min(allowed, got);
        if (got < wanted) { // the network is empty
            decrypt(places);
            break;
        }
    }
    const ssize_t moved = outcome(places);
    return moved == -EAGAIN && send_code_ != 0 ? -send_code_ : moved;
}

ssize_t TlsStream::receive_kept(std::span<const iovec> where) {
    Places places(where);
    decrypt(places);
    return outcome(places);
}

ssize_t TlsStream::outcome(const Places& places) const {
    if (places.moved() > 0)
        return static_cast<ssize_t>(places.moved());
    return ended_ ? -*ended_ : -EAGAIN;
}

bool TlsStream::has_something() const {
    return ::BIO_ctrl_wpending(network_.get()) > 0 || ::SSL_pending(ssl_.get()) > 0;
}

// Decrypts the received bytes until PLACES are full.
void TlsStream::decrypt(Places& places) {
    if (!has_something()) // saves a spinning thread the cost of a useless call
        return;
    const ErrorQueue queue;
    while (!places.full() && !ended_ && has_something()) {
        const std::span<std::byte> place = places.next();
        std::size_t size = 0;
        const int result = ::SSL_read_ex(ssl_.get(), place.data(), place.size(), &size);
        if (result == 1) {
            messages_ = 0;
            places.fill(size);
        } else if (alert_ == SSL_AD_CLOSE_NOTIFY) {
            end(0, {});
        } else if (needs_input(result)) {
            return;
        } else {
            fail_tls();
            flush(false);
        }
    }
}

ssize_t TlsStream::send(std::span<const iovec> pieces, bool more) {
    flush(more);
    if (send_code_ != 0)
        return -send_code_;
    if (pending())
        return -EAGAIN;
    // Encrypts several records, to send them with one call.
    const std::size_t wanted = size_of(pieces);
    std::size_t size = 0;
    const auto has_room = [this] {
        return BIO_get_write_guarantee(::SSL_get_wbio(ssl_.get())) >=
               static_cast<int>(full_record + beside_records);
    };
    while (size < wanted && has_room()) {
        const std::size_t plain = copy_pieces(pieces, size);
        if (!encrypt(plain)) {
            send_code_ = EPROTO;
            return -send_code_;
        }
        size += plain;
    }
    flush(more || size < wanted);
    return static_cast<ssize_t>(size);
}

// Copies the next record from PIECES, beginning at POSITION. A copy is needed because other threads
// may write to PIECES, and OpenSSL does not promise to read each byte only once.
std::size_t TlsStream::copy_pieces(std::span<const iovec> pieces, std::size_t position) {
    std::size_t size = 0;
    for (const iovec& piece : pieces) {
        const std::size_t skipped = std::min(piece.iov_len, position);
        const std::size_t taken = std::min(piece.iov_len - skipped, plain_.size() - size);
        std::copy_n(static_cast<const std::byte*>(piece.iov_base) + skipped, taken,
                    plain_.data() + size);
        position -= skipped;
        size += taken;
    }
    return size;
}

bool TlsStream::encrypt(std::size_t size) {
    const ErrorQueue queue;
    if (records_ >= records_of_a_key_) {
        if (::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
            return false;
        records_ = 0;
    }
    std::size_t taken = 0;
    // This fails only after receiving has failed, or if the peer has sent a part of a KeyUpdate,
    // which no implementation does.
    if (::SSL_write_ex(ssl_.get(), plain_.data(), size, &taken) != 1) {
        if (!ended_)
            fail_tls();
        return false;
    }
    ++records_;
    return taken == size;
}

// Sends encrypted bytes until the lower stream accepts no more.
void TlsStream::flush(bool more) {
    for (ByteView bytes = unsent(); !bytes.empty(); bytes = unsent()) {
        const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
        const ssize_t sent = lower_->send(std::span(&piece, 1), more);
        if (sent == -EAGAIN)
            return;
        if (sent < 0) {
            send_code_ = static_cast<int>(-sent);
            static_cast<void>(BIO_reset(::SSL_get_wbio(ssl_.get()))); // drops the unsent bytes
            break;
        }
        char* place = nullptr;
        static_cast<void>(::BIO_nread(network_.get(), &place, static_cast<int>(sent)));
    }
    if (state_ == State::finishing || state_ == State::close_notify_sent)
        continue_shutdown();
}

void TlsStream::finish() {
    if (state_ == State::open)
        enter(State::finishing);
    flush(false);
}

// Sends close_notify after all data, and then finishes the lower stream.
void TlsStream::continue_shutdown() {
    if (state_ == State::close_notify_sent) {
        enter(State::finished);
        lower_->finish();
        return;
    }
    enter(State::close_notify_sent);
    if (send_code_ == 0) {
        const ErrorQueue queue;
        static_cast<void>(::SSL_shutdown(ssl_.get()));
    }
    flush(false);
}

void TlsStream::end(int code, std::string reason) {
    if (ended_)
        return;
    ended_ = code;
    reason_ = std::move(reason);
}

void TlsStream::fail_tls() { end(EPROTO, why_it_failed()); }

std::string TlsStream::why_it_failed() const {
    if (messages_ > max_messages)
        return fmt::format("the peer sent more than {} messages of TLS without data", max_messages);
    if (state_ == State::handshake && handshake_bytes_ == 0)
        return fmt::format("the peer's TLS handshake exceeds {} bytes", max_handshake_bytes);
    return why_tls_failed(alert_, state_ == State::handshake);
}

Error TlsStream::error() const {
    return {ended_ && *ended_ != 0 ? *ended_ : send_code_, ErrorClass::link_lost,
            "TLS with " + name_ + ": " + (reason_.empty() ? strerror(send_code_) : reason_)};
}

} // namespace rpmem::transport
