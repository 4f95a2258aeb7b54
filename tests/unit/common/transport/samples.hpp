// SPDX-License-Identifier: BSD-3-Clause
// A session with known secret, transcript and nonces, and the messages that it sends. The expected
// bytes come from tests/data/transport/make.py, which does not use the product. The tests of the
// lane handshake and of TLS share them.
#pragma once

#include "common/transport/lane_auth.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::transport::samples {

template <std::size_t Size>
std::array<std::byte, Size> count_up(int first) {
    std::array<std::byte, Size> bytes;
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(first++);
    return bytes;
}

inline const Nonce initiator_nonce = count_up<32>(0x40);
inline const Nonce target_nonce = count_up<32>(0x80);
inline const Exporter exporter = count_up<32>(0xc0);
inline constexpr auto tcp = wire::Provider::tcp;
inline constexpr LaneIdentity identity{
    .lane = 0x01020304, .generation = 0x1112131415161718, .transport = tcp};

// Returns bytes that tests/data/transport/make.py has written.
inline std::vector<std::byte> golden(const std::string& name) {
    const std::filesystem::path data = TRANSPORT_DATA_DIR;
    const std::string content = test::read_file(data / (name + ".bin"));
    if (content.empty())
        throw std::runtime_error("no golden bytes of " + name);
    return test::bytes_of_text(content);
}

// FIRST is the first byte of the secret. REQUEST is a part of the control transcript.
inline ProofSession session(int first = 0, std::string_view request = "the request") {
    return {.keys = derive_keys(Secret::copy_of(count_up<32>(first)).value()).value(),
            .transcript = transcript_of(bytes_of("the hello"), bytes_of("the answer"),
                                        bytes_of(request), bytes_of("the response"))
                              .value(),
            .lanes = 0x01020305,
            .generation = identity.generation};
}

inline ProofFacts facts(const Exporter& of_tls = {}) {
    return {.identity = identity,
            .initiator = initiator_nonce,
            .target = target_nonce,
            .exporter = of_tls};
}

inline std::vector<std::byte> copied(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

// Always returns the same bytes, or fails with error code 38.
class KnownRandom final : public Random {
public:
    explicit KnownRandom(const Nonce& bytes, bool fails = false) : bytes_(bytes), fails_(fails) {}
    Result<> fill(std::span<std::byte> to) override {
        if (fails_)
            return fail(ErrorClass::resource_limit, 38, "no random numbers here");
        std::ranges::copy(std::span(bytes_).first(to.size()), to.begin());
        return {};
    }

private:
    Nonce bytes_;
    bool fails_;
};

} // namespace rpmem::transport::samples
