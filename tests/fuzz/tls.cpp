// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes bytes that an attacker on the network sends to a target with TLS: instead of a handshake,
// after one, or as changes to the records of an authentic initiator. A handshake without the PSK,
// data without the key, changed data that is delivered, or a stream that does not end fails.
#include "common/transport/tls/tls_stream.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using fuzz::require;
using transport::TlsStep;

// One direction of a connection: the bytes that one end has sent and the other has not received.
struct Way {
    fuzz::Bytes bytes;
    std::size_t at = 0;
    bool is_over = false;
};

class Script final : public transport::Stream {
public:
    Script(Way& in, Way& out, std::size_t step) : in_(in), out_(out), step_(step) {}
    ssize_t send(std::span<const iovec> pieces, bool) override {
        const auto* const from = static_cast<const std::byte*>(pieces[0].iov_base);
        const std::size_t size = std::min(pieces[0].iov_len, step_);
        out_.bytes.insert(out_.bytes.end(), from, from + size);
        return static_cast<ssize_t>(size);
    }
    ssize_t receive(std::span<const iovec> places) override {
        const std::size_t size = std::min({places[0].iov_len, step_, in_.bytes.size() - in_.at});
        if (size == 0)
            return in_.is_over ? 0 : -EAGAIN;
        std::copy_n(in_.bytes.begin() + static_cast<std::ptrdiff_t>(in_.at), size,
                    static_cast<std::byte*>(places[0].iov_base));
        in_.at += size;
        return static_cast<ssize_t>(size);
    }
    void finish() override { out_.is_over = true; }
    void reset() override { out_.is_over = true; }
    void release_in_child() override {}
    [[nodiscard]] int fd() const override { return -1; }

private:
    Way& in_;
    Way& out_;
    std::size_t step_;
};

std::unique_ptr<transport::TlsStream> make_end(transport::TlsRole role, Way& in, Way& out,
                                               std::size_t step) {
    static const transport::Secret psk =
        transport::Secret::copy_of(std::array<std::byte, 32>{std::byte{1}}).value();
    static const auto initiator =
        transport::TlsContext::make(transport::TlsRole::initiator, psk).value();
    static const auto target = transport::TlsContext::make(transport::TlsRole::target, psk).value();
    return transport::TlsStream::make(role == transport::TlsRole::initiator ? initiator : target,
                                      std::make_unique<Script>(in, out, step), "a stranger")
        .value();
}

struct Pair {
    explicit Pair(std::size_t step)
        : initiator(make_end(transport::TlsRole::initiator, to_initiator, to_target, 1 << 20)),
          target(make_end(transport::TlsRole::target, to_target, to_initiator, step)) {}
    // Returns the target's last step.
    TlsStep exchange_hello() {
        TlsStep step = TlsStep::wants_read;
        for (int i = 0; i < 4; ++i) { // more rounds than a handshake needs
            static_cast<void>(initiator->advance());
            for (int j = 0; j < 1000 && target->advance() == TlsStep::wants_write; ++j) {
            }
            step = target->advance();
        }
        return step;
    }
    Way to_initiator;
    Way to_target;
    std::unique_ptr<transport::TlsStream> initiator;
    std::unique_ptr<transport::TlsStream> target;
};

void require_failure(const transport::TlsStream& stream) {
    const Error error = stream.error();
    require(error.code == EPROTO || error.code == ECONNRESET,
            "what is not TLS of the session has a documented errno value");
    require(error.text.starts_with("TLS with a stranger: ") &&
                !fuzz::has_control_character(error.text),
            "a failure has a text");
}

// Returns all data that the target delivers until the end of the stream or a failure.
fuzz::Bytes drain(transport::TlsStream& target) {
    fuzz::Bytes received;
    std::array<std::byte, 300> place;
    const iovec where{place.data(), place.size()};
    for (int i = 0; i < 100000; ++i) {
        const ssize_t got = target.receive(std::span(&where, 1));
        if (got == 0)
            return received;
        if (got < 0 && got != -EAGAIN) {
            require_failure(target);
            return received;
        }
        if (got > 0)
            received.insert(received.end(), place.begin(), place.begin() + got);
    }
    require(false, "a stream whose other end has gone ends");
    return received;
}

void strange_handshake(const fuzz::Bytes& bytes, std::size_t step) {
    Way in{.bytes = bytes, .is_over = true};
    Way out;
    const auto target = make_end(transport::TlsRole::target, in, out, step);
    TlsStep done = TlsStep::wants_read;
    for (std::size_t i = 0; i < 2 * bytes.size() + 1000 && done != TlsStep::failed; ++i) {
        done = target->advance();
        require(done != TlsStep::done, "nobody shakes hands without the PSK");
    }
    require(done == TlsStep::failed, "a handshake whose other end has gone ends");
    require_failure(*target);
}

void strange_records(const fuzz::Bytes& bytes, std::size_t step) {
    Pair pair(step);
    require(pair.exchange_hello() == TlsStep::done, "an honest handshake is done");
    pair.to_target.bytes.insert(pair.to_target.bytes.end(), bytes.begin(), bytes.end());
    pair.to_target.is_over = true;
    require(drain(*pair.target).empty(), "nobody sends data without the key");
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    static_cast<void>(pair.target->send(std::span(&piece, 1), false));
    pair.target->finish();
}

// The input has four bytes for each change: the place and the change. The data are 600 bytes in
// three records.
void changed_records(fuzz::Input& input, std::size_t step) {
    Pair pair(step);
    require(pair.exchange_hello() == TlsStep::done, "an honest handshake is done");
    fuzz::Bytes said(600);
    for (std::size_t i = 0; i < said.size(); ++i)
        said[i] = static_cast<std::byte>(i * 7);
    for (std::size_t at = 0; at < said.size(); at += 200) {
        const iovec piece{said.data() + at, 200};
        require(pair.initiator->send(std::span(&piece, 1), false) == 200, "data are sent");
    }
    pair.initiator->finish();
    fuzz::Bytes& stream = pair.to_target.bytes;
    const std::size_t begin = pair.to_target.at;
    bool is_changed = false;
    while (input.left() >= 4) {
        const auto where = begin + input.take_value<std::uint16_t>() % (stream.size() - begin);
        const auto change = input.take_value<std::uint16_t>();
        is_changed = is_changed || (change & 0xff) != 0;
        stream[where] ^= static_cast<std::byte>(change);
    }
    const fuzz::Bytes received = drain(*pair.target);
    require(received.size() <= said.size() &&
                std::equal(received.begin(), received.end(), said.begin()),
            "what is given out is what was said, from its beginning on");
    require(is_changed || received == said, "what was not changed is given out");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto choice = input.take_value<std::uint8_t>();
    const std::size_t step = choice < 64 ? std::size_t{1} << 20 : choice;
    if (choice % 3 == 0)
        strange_handshake(input.take(input.left()), step);
    else if (choice % 3 == 1)
        strange_records(input.take(input.left()), step);
    else
        changed_records(input, step);
    return 0;
}
