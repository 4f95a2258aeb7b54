// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the daemon's side of the hello. All bytes of the client are there at the start, and then
// the input ends, so nothing waits. An agreement without a valid answer of the client fails.
#include "rpmemd/session/handshake.hpp"

#include "common/base/io.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;

Pipe full_pipe(std::span<const std::byte> bytes) {
    auto pipe = make_pipe();
    require(pipe && write_fully(pipe->write_end.get(), bytes, Deadline(std::chrono::seconds(1))),
            "there is a pipe");
    pipe->write_end.reset();
    return std::move(*pipe);
}

void check_agreement(const wire::Agreement& agreement, const fuzz::Bytes& bytes) {
    require(agreement.lane_frames, "a session after a hello has lane frames");
    // Bytes after the answer belong to the requests.
    const auto size = wire::decode_hello_size(bytes, wire::hello_answer_size);
    require(size && *size <= bytes.size(), "a whole answer has come");
    const auto answer = wire::decode_hello_answer(std::span(bytes).first(*size));
    require(answer.has_value() && (answer->capabilities & wire::capability_lane_frames) != 0,
            "the client accepts lane frames");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::Bytes bytes = fuzz::Input(data, size).take(size);
    const Pipe input = full_pipe(bytes);
    auto output = make_pipe();
    require(output.has_value(), "there is a pipe");
    const NodeCapabilities capabilities{.providers = 1,
                                        .why_not_verbs = {},
                                        .conditions = wire::all_conditions,
                                        .addresses = {HostAddress{}}};
    const auto handshake = exchange_hello(wire::offer_value, capabilities, input.read_end.get(),
                                          output->write_end.get());
    if (fuzz::is_refused(handshake, {EBADMSG, EPROTO}))
        return 0;
    check_agreement(handshake->agreement, bytes);
    return 0;
}
