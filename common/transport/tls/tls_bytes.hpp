// The encrypted bytes between OpenSSL and the network: two buffers of fixed size, in the form of a
// BIO. OpenSSL touches no socket: its own BIO for them raises SIGPIPE.
#pragma once

#include "common/transport/crypto.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>

struct bio_method_st; // BIO_METHOD
struct bio_st;        // BIO
struct ssl_st;        // SSL

namespace rpmem::transport {

// Of TLS 1.3: five bytes before, the type and the tag behind.
inline constexpr std::size_t most_plain_bytes = 16384;
inline constexpr std::size_t record_overhead = 5 + 1 + 16;

class TlsBytes {
public:
    TlsBytes() {}
    TlsBytes(const TlsBytes&) = delete;
    TlsBytes& operator=(const TlsBytes&) = delete;

    // Before all else. False: there is no memory.
    [[nodiscard]] bool attach(ssl_st* ssl);

    // Before each call of OpenSSL.
    void begin_call() { ran_dry_ = false; }
    // OpenSSL wanted more than there is: the call did not fail, it goes on when more has come.
    [[nodiscard]] bool ran_dry() const { return ran_dry_; }

    // Where received bytes go, and how many came.
    [[nodiscard]] std::span<std::byte> room() { return std::span(in_).subspan(in_end_); }
    void received(std::size_t bytes) { in_end_ += bytes; }
    [[nodiscard]] bool has_received() const { return in_begin_ < in_end_; }
    // OpenSSL gets no more than so many bytes; what wants more, fails.
    void limit(std::size_t bytes) { allowed_ = bytes; }
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    [[nodiscard]] bool used_up() const { return allowed_ == 0; }

    [[nodiscard]] Bytes unsent() const {
        return Bytes(out_).subspan(out_begin_, out_end_ - out_begin_);
    }
    [[nodiscard]] bool has_room_for_record() const {
        return out_end_ + full_record + beside_records <= out_.size();
    }
    void sent(std::size_t bytes);
    void forget_unsent() { out_begin_ = out_end_ = 0; }

private:
    static int read(bio_st* bio, char* place, int size);
    static int write(bio_st* bio, const char* bytes, int size);

    // Large enough that a call of the socket is worth while.
    static constexpr std::size_t in_size = std::size_t{128} * 1024;
    static constexpr std::size_t full_record = most_plain_bytes + record_overhead;
    // With a KeyUpdate before each record, and alerts behind.
    static constexpr std::size_t beside_records = 256;
    static constexpr std::size_t out_size = 4 * full_record + beside_records;

    struct FreeMethod {
        void operator()(bio_method_st* method) const;
    };
    std::unique_ptr<bio_method_st, FreeMethod> method_;
    bool ran_dry_ = false;
    std::size_t allowed_ = unlimited;
    std::size_t in_begin_ = 0;
    std::size_t in_end_ = 0;
    std::size_t out_begin_ = 0;
    std::size_t out_end_ = 0;
    std::array<std::byte, in_size> in_; // not touched before it is used
    std::array<std::byte, out_size> out_;
};

} // namespace rpmem::transport
