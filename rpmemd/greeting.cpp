#include "greeting.hpp"

#include "base/io.hpp"
#include "wire/control_messages.hpp"
#include "wire/hello.hpp"

#include <sys/random.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <vector>

namespace rpmem::target {
namespace {

constexpr std::chrono::seconds greeting_time(30);

constexpr std::uint32_t most_lanes = 1024;
constexpr std::uint32_t most_inline_bytes = 64 * 1024;
constexpr std::uint32_t most_messages = 32;

std::uint32_t bit(wire::Provider provider) {
    return wire::provider_bit(static_cast<std::uint32_t>(provider));
}

// Without loading libfabric's opinion, which takes a while: what this node may well have.
std::uint32_t likely_providers() {
    std::uint32_t providers = bit(wire::Provider::tcp) | bit(wire::Provider::sockets);
    std::error_code none;
    if (std::filesystem::exists("/dev/infiniband/rdma_cm", none))
        providers |= bit(wire::Provider::verbs);
    return providers;
}

Result<wire::Hello> make_hello() {
    wire::Hello hello;
    hello.capabilities = wire::capability_lane_greeting | wire::capability_pipelining;
    hello.providers = likely_providers();
    hello.lanes = most_lanes;
    hello.messages = most_messages;
    hello.inline_size = most_inline_bytes;
    if (getrandom(hello.token.data(), hello.token.size(), 0) !=
        static_cast<ssize_t>(hello.token.size()))
        return fail_errno(ErrorClass::bug, errno, "getrandom");
    return hello;
}

Result<wire::HelloAnswer> read_answer(int input, const Deadline& deadline) {
    std::vector<std::byte> bytes(wire::hello_size_field);
    auto got = read_fully(input, bytes, deadline);
    if (!got)
        return propagate(std::move(got));
    const auto size =
        wire::decode_hello_size(std::span(bytes).first(*got), wire::hello_answer_size);
    if (!size)
        return tl::unexpected(size.error());
    bytes.resize(*size);
    got = read_fully(input, std::span(bytes).subspan(wire::hello_size_field), deadline);
    if (!got)
        return propagate(std::move(got));
    return wire::decode_hello_answer(std::span(bytes).first(wire::hello_size_field + *got));
}

} // namespace

Result<Agreement> greet(const char* offer, int input, int output) {
    const Deadline deadline(greeting_time);
    if (!offer || std::string_view(offer) != wire::offer_value) {
        RPMEM_TRY(write_fully(output, wire::encode_initial_status(0), deadline));
        return Agreement{};
    }
    const auto hello = make_hello();
    if (!hello)
        return tl::unexpected(hello.error());
    RPMEM_TRY(write_fully(output, wire::encode_initial_status(wire::hello_status), deadline));
    RPMEM_TRY(write_fully(output, wire::encode(*hello), deadline));
    const auto answer = read_answer(input, deadline);
    if (!answer)
        return tl::unexpected(answer.error());
    Agreement agreement{.knows_hello = true, .lane_token = std::nullopt};
    agreement.counted_answers = (answer->capabilities & wire::capability_pipelining) != 0;
    agreement.messages = agreement.counted_answers ? hello->messages : 1;
    if ((answer->capabilities & wire::capability_lane_greeting) != 0)
        agreement.lane_token = hello->token;
    return agreement;
}

} // namespace rpmem::target
