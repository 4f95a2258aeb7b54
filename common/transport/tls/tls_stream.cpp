#include "common/transport/tls/tls_stream.hpp"

#include "common/transport/openssl.hpp"
#include "common/transport/tls/tls_text.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::transport {
namespace {

// Of TLS itself: an honest handshake has three, and a KeyUpdate comes once in millions of records.
constexpr unsigned most_messages = 32;

// An honest handshake has less than 1 KiB.
constexpr std::size_t most_handshake_bytes = std::size_t{16} * 1024;

constexpr std::string_view exporter_label = "EXPORTER-rpmem-lane-1";

std::size_t size_of(std::span<const iovec> pieces) {
    std::size_t size = 0;
    for (const iovec& piece : pieces)
        size += piece.iov_len;
    return size;
}

} // namespace

// Where received bytes go.
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
    std::size_t filled_ = 0; // of the first
    std::size_t moved_ = 0;
};

void TlsStream::Free::operator()(ssl_st* ssl) const { ::SSL_free(ssl); }

Result<std::unique_ptr<TlsStream>> TlsStream::make(const TlsContext& context,
                                                   std::unique_ptr<Stream> lower, std::string name,
                                                   std::uint64_t records_of_a_key) {
    const ErrorQueue queue;
    std::unique_ptr<TlsStream> made(
        new TlsStream(context.role(), std::move(lower), std::move(name), records_of_a_key));
    if (made->set_up(context))
        return made;
    return fail(ErrorClass::resource_limit, ENOMEM, "TLS with {}: there is no memory for it",
                made->name_);
}

bool TlsStream::set_up(const TlsContext& context) {
    ssl_.reset(::SSL_new(context.get()));
    if (!ssl_ || !bytes_.attach(ssl_.get()))
        return false;
    bytes_.limit(most_handshake_bytes);
    ::SSL_set_msg_callback(ssl_.get(), heard);
    SSL_set_msg_callback_arg(ssl_.get(), this);
    if (role_ == TlsRole::initiator)
        ::SSL_set_connect_state(ssl_.get());
    else
        ::SSL_set_accept_state(ssl_.get());
    return true;
}

void TlsStream::heard(int is_ours, int, int type, const void* bytes, std::size_t size, ssl_st*,
                      void* stream) {
    auto& self = *static_cast<TlsStream*>(stream);
    if (is_ours != 0 ||
        (type != SSL3_RT_HANDSHAKE && type != SSL3_RT_ALERT && type != SSL3_RT_CHANGE_CIPHER_SPEC))
        return;
    if (type == SSL3_RT_ALERT && size == 2)
        self.alert_ = static_cast<const unsigned char*>(bytes)[1];
    if (++self.messages_ > most_messages)
        self.bytes_.limit(0);
}

bool TlsStream::give(Bytes received) {
    const std::span<std::byte> room = bytes_.room();
    if (received.size() > room.size())
        return false;
    std::ranges::copy(received, room.begin());
    bytes_.received(received.size());
    return true;
}

TlsStep TlsStream::shake_hands(bool receives) {
    const ErrorQueue queue;
    while (state_ != State::failed) {
        if (state_ == State::handshake) {
            bytes_.begin_call();
            if (::SSL_do_handshake(ssl_.get()) == 1)
                check_handshake();
            else if (!bytes_.ran_dry())
                fail_tls();
        }
        flush(false);
        if (send_code_ != 0 && state_ != State::failed)
            end(send_code_, strerror(send_code_));
        if (ended_ && *ended_ != 0)
            state_ = State::failed;
        if (state_ == State::failed)
            break;
        if (pending())
            return TlsStep::wants_write;
        if (state_ == State::open)
            return TlsStep::done;
        if (!receives)
            return TlsStep::wants_read;
        if (!refill() && !ended_)
            return TlsStep::wants_read;
    }
    return TlsStep::failed;
}

// A PSK is what all of this is for: nothing may stand in its place, whatever OpenSSL negotiates.
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
        end(ENOMEM, "there is no memory for it");
        return;
    }
    bytes_.limit(TlsBytes::unlimited);
    state_ = State::open;
}

// False: nothing comes now, or it is the end.
bool TlsStream::refill() {
    const std::span<std::byte> room = bytes_.room();
    const iovec place{room.data(), room.size()};
    const ssize_t got = lower_->receive(std::span(&place, 1));
    if (got > 0)
        bytes_.received(static_cast<std::size_t>(got));
    else if (got == 0)
        end(ECONNRESET, state_ == State::handshake ? "the peer ended the connection"
                                                   : "the end came without close_notify");
    else if (got != -EAGAIN)
        end(static_cast<int>(-got), strerror(static_cast<int>(-got)));
    // What was short has emptied the network.
    return got > 0;
}

ssize_t TlsStream::receive(std::span<const iovec> where) {
    flush(false);
    Places places(where);
    // What a peer sends in tiny records takes as much time as a record each, and must not keep
    // others waiting.
    std::size_t allowed = 2 * size_of(where) + bytes_.room().size();
    while (true) {
        decrypt(places);
        if (places.full() || ended_)
            break;
        const std::size_t room = bytes_.room().size();
        if (allowed == 0 || !refill())
            break;
        const std::size_t got = room - bytes_.room().size();
        allowed -= std::min(allowed, got);
        if (got < room) { // which has emptied the network
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
    return bytes_.has_received() || ::SSL_pending(ssl_.get()) > 0;
}

// As much as has come and as there is place for.
void TlsStream::decrypt(Places& places) {
    if (!has_something()) // who looks again and again must not pay for a call in vain each time
        return;
    const ErrorQueue queue;
    while (!places.full() && !ended_ && has_something()) {
        const std::span<std::byte> place = places.next();
        std::size_t size = 0;
        bytes_.begin_call();
        if (::SSL_read_ex(ssl_.get(), place.data(), place.size(), &size) == 1) {
            messages_ = 0;
            places.fill(size);
        } else if (alert_ == SSL_AD_CLOSE_NOTIFY) {
            end(0, {});
        } else if (bytes_.ran_dry()) {
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
    if (!bytes_.unsent().empty())
        return -EAGAIN;
    // Several records go by one call of the network.
    const std::size_t wanted = size_of(pieces);
    std::size_t size = 0;
    while (size < wanted && bytes_.has_room_for_record()) {
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

// What a record takes of PIECES, from POSITION on. A copy: other threads may write to them, and
// OpenSSL does not promise to read them only once.
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
    bytes_.begin_call();
    // It can only fail because what was received has failed, or because the peer has sent a part
    // of a KeyUpdate, which nobody does.
    if (::SSL_write_ex(ssl_.get(), plain_.data(), size, &taken) != 1) {
        if (!ended_)
            fail_tls();
        return false;
    }
    ++records_;
    return taken == size;
}

// Hands the network what it takes.
void TlsStream::flush(bool more) {
    while (!bytes_.unsent().empty()) {
        const Bytes unsent = bytes_.unsent();
        const iovec piece{const_cast<std::byte*>(unsent.data()), unsent.size()};
        const ssize_t sent = lower_->send(std::span(&piece, 1), more);
        if (sent == -EAGAIN)
            return;
        if (sent < 0) {
            send_code_ = static_cast<int>(-sent);
            bytes_.forget_unsent();
            break;
        }
        bytes_.sent(static_cast<std::size_t>(sent));
    }
    if (close_notify_ == CloseNotify::wanted || close_notify_ == CloseNotify::said)
        go_on_ending();
}

void TlsStream::finish() {
    if (close_notify_ == CloseNotify::no)
        close_notify_ = CloseNotify::wanted;
    flush(false);
}

// All that was sent has gone. The peer reads close_notify, then the end.
void TlsStream::go_on_ending() {
    if (close_notify_ == CloseNotify::said) {
        close_notify_ = CloseNotify::done;
        lower_->finish();
        return;
    }
    close_notify_ = CloseNotify::said;
    if (state_ == State::open && send_code_ == 0) {
        const ErrorQueue queue;
        static_cast<void>(::SSL_shutdown(ssl_.get()));
    }
    flush(false);
}

bool TlsStream::pending() const { return !bytes_.unsent().empty(); }

void TlsStream::end(int code, std::string reason) {
    if (ended_)
        return;
    ended_ = code;
    reason_ = std::move(reason);
}

// What OpenSSL said last is why.
void TlsStream::fail_tls() {
    end(EPROTO, text_of({.alert = alert_,
                         .in_handshake = state_ == State::handshake,
                         .too_many_messages = messages_ > most_messages,
                         .too_long = bytes_.used_up(),
                         .code = ::ERR_peek_last_error()}));
}

Error TlsStream::error() const {
    return {ended_ && *ended_ != 0 ? *ended_ : send_code_, ErrorClass::link_lost,
            "TLS with " + name_ + ": " + (reason_.empty() ? strerror(send_code_) : reason_)};
}

} // namespace rpmem::transport
