// SPDX-License-Identifier: BSD-3-Clause
#include "common/wire/hello.hpp"

#include "common/wire/byte_reader.hpp"
#include "common/wire/byte_writer.hpp"

#include <algorithm>
#include <cerrno>

namespace rpmem::wire {
namespace {

template <typename... Args>
Failure malformed_hello(fmt::format_string<Args...> why, Args&&... args) {
    return in_context(
        "malformed hello",
        fail(ErrorClass::link_lost, EBADMSG, why, std::forward<Args>(args)...).value());
}

Result<> check_size(std::span<const std::byte> bytes, std::size_t min_size) {
    RPMEM_ASSIGN(const auto announced, decode_hello_size(bytes, min_size));
    if (announced != bytes.size())
        return malformed_hello("its size field is {}, but it has {} bytes", announced,
                               bytes.size());
    return {};
}

// Encodes the fields with which a hello and an answer begin.
void put_begin(ByteWriter& writer, std::size_t size, const auto& message) {
    writer.big_endian(static_cast<std::uint32_t>(size));
    writer.number(message.version);
    writer.zeros(2);
    writer.number(message.capabilities);
}

void take_begin(ByteReader& reader, auto& message) {
    reader.number(message.version);
    static_cast<void>(reader.big_endian<std::uint16_t>()); // reserved
    reader.number(message.capabilities);
}

// Reserved bytes after the number of lanes, sent as zeros and ignored by the receiver.
constexpr std::size_t reserved_size = 24;

// An address has a family and 16 bytes. IPv4 uses the first four.
constexpr std::size_t count_size = 4;
constexpr std::size_t family_size = 4;
constexpr std::size_t address_size = family_size + sizeof(HostAddress::bytes);
constexpr std::uint32_t ipv4 = 4;
constexpr std::uint32_t ipv6 = 6;
constexpr std::size_t ipv4_size = 4;

void put_addresses(ByteWriter& writer, std::span<const HostAddress> addresses) {
    writer.big_endian(static_cast<std::uint32_t>(addresses.size()));
    for (const HostAddress& address : addresses) {
        writer.big_endian(address.family == HostAddress::Family::ipv4 ? ipv4 : ipv6);
        writer.raw(address.bytes);
    }
}

Result<std::vector<HostAddress>> take_addresses(ByteReader& reader) {
    if (reader.rest().size() < count_size)
        return malformed_hello("{} bytes are left for the number of its addresses, expected {}",
                               reader.rest().size(), count_size);
    const auto count = reader.big_endian<std::uint32_t>();
    if (count > max_hello_addresses || reader.rest().size() < count * address_size)
        return malformed_hello("it announces {} addresses of {} bytes; the maximum is {}, and {} "
                               "bytes follow",
                               count, address_size, max_hello_addresses, reader.rest().size());
    std::vector<HostAddress> addresses;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto family = reader.big_endian<std::uint32_t>();
        HostAddress address;
        reader.raw(address.bytes);
        address.family = family == ipv4 ? HostAddress::Family::ipv4 : HostAddress::Family::ipv6;
        // Comparing two addresses includes the unused bytes, which a peer may have set.
        if (family == ipv4)
            std::fill(address.bytes.begin() + ipv4_size, address.bytes.end(), std::byte{0});
        // Later versions may send other families. They are ignored.
        if (family == ipv4 || family == ipv6)
            addresses.push_back(address);
    }
    return addresses;
}

} // namespace

std::string with_offer(const std::string& command, OfferForm form) {
    if (form == OfferForm::option)
        return fmt::format("{} {}", command, offer_option);
    return fmt::format("export {}={}; {}", offer_variable, offer_value, command);
}

Result<std::size_t> decode_hello_size(std::span<const std::byte> bytes, std::size_t min_size) {
    if (bytes.size() < hello_size_field)
        return malformed_hello("it has {} bytes; its size field alone has {}", bytes.size(),
                               hello_size_field);
    const std::size_t size = ByteReader(bytes).big_endian<std::uint32_t>();
    if (size < min_size || size > max_hello_size)
        return malformed_hello("its size is {}; {} to {} are allowed", size, min_size,
                               max_hello_size);
    return size;
}

std::vector<std::byte> encode(const Hello& hello) {
    const bool has_addresses = (hello.capabilities & capability_addresses) != 0;
    const auto addresses =
        std::span(hello.addresses).first(std::min(hello.addresses.size(), max_hello_addresses));
    const bool has_secret = (hello.capabilities & capability_lane_frames) != 0;
    const std::size_t size = hello_size +
                             (has_addresses ? count_size + addresses.size() * address_size : 0) +
                             (has_secret ? session_secret_size : 0);
    ByteWriter writer(size);
    put_begin(writer, size, hello);
    writer.big_endian(hello.providers);
    writer.big_endian(hello.lanes);
    writer.zeros(reserved_size);
    if (has_addresses)
        put_addresses(writer, addresses);
    if (has_secret)
        writer.raw(hello.secret);
    return writer.take();
}

std::vector<std::byte> encode(const HelloAnswer& answer) {
    ByteWriter writer(hello_answer_size);
    put_begin(writer, hello_answer_size, answer);
    return writer.take();
}

Result<Hello> decode_hello(std::span<const std::byte> bytes) {
    RPMEM_TRY(check_size(bytes, hello_size));
    ByteReader reader(bytes.subspan(hello_size_field));
    Hello hello;
    take_begin(reader, hello);
    hello.providers = reader.big_endian<std::uint32_t>();
    hello.lanes = reader.big_endian<std::uint32_t>();
    std::array<std::byte, reserved_size> reserved;
    reader.raw(reserved);
    if (hello.version == 0 || hello.lanes == 0)
        return malformed_hello("its version is {} and its number of lanes is {}; the minimum is 1",
                               hello.version, hello.lanes);
    if ((hello.capabilities & capability_addresses) != 0) {
        RPMEM_ASSIGN(hello.addresses, take_addresses(reader));
    }
    if ((hello.capabilities & capability_lane_frames) != 0) {
        if (reader.rest().size() < session_secret_size)
            return malformed_hello("{} bytes are left for the secret of the session, expected {}",
                                   reader.rest().size(), session_secret_size);
        reader.raw(hello.secret);
    }
    return hello;
}

Result<HelloAnswer> decode_hello_answer(std::span<const std::byte> bytes) {
    RPMEM_TRY(check_size(bytes, hello_answer_size));
    ByteReader reader(bytes.subspan(hello_size_field));
    HelloAnswer answer;
    take_begin(reader, answer);
    if (answer.version == 0)
        return malformed_hello("the version of its answer is 0; the minimum is 1");
    return answer;
}

HelloAnswer answer_to(const Hello& hello, const Preferences& preferences) {
    const std::uint64_t unwanted = preferences.tls ? 0 : capability_tls;
    return {.version = hello_version,
            .capabilities = hello.capabilities & (all_capabilities | all_conditions) & ~unwanted};
}

// Ignores capabilities that an answer accepts although they were not offered.
Result<Agreement> negotiate(const Hello& hello, const HelloAnswer& answer) {
    const std::uint64_t both = hello.capabilities & answer.capabilities;
    const auto has = [both](std::uint64_t capability) { return (both & capability) != 0; };
    if (!has(capability_lane_frames))
        return fail(ErrorClass::target_refused, EPROTO,
                    "capability {:#x} (lane frames) is required, but the hello has capabilities "
                    "{:#x} and the answer {:#x}; update the peer",
                    capability_lane_frames, hello.capabilities, answer.capabilities);
    Agreement agreement{.lane_frames = true};
    agreement.tls = has(capability_tls);
    agreement.medium_failure = has(capability_medium_failure);
    agreement.resume = has(capability_resume);
    agreement.pool_claim = agreement.resume && has(capability_pool_claim);
    agreement.compare = agreement.resume && has(capability_compare);
    // Conditions hold even if the initiator does not know them.
    agreement.conditions = hello.capabilities & all_conditions;
    return agreement;
}

std::vector<std::byte> encode(const LaneConnectData& data) {
    ByteWriter writer(lane_connect_data_size);
    writer.big_endian(data.lane);
    writer.raw(data.token);
    return writer.take();
}

Result<LaneConnectData> decode_lane_connect_data(std::span<const std::byte> bytes) {
    if (bytes.size() < lane_connect_data_size)
        return fail(ErrorClass::link_lost, EBADMSG,
                    "the data of a lane's connection request have {} bytes; the minimum is {}",
                    bytes.size(), lane_connect_data_size);
    ByteReader reader(bytes);
    LaneConnectData data;
    data.lane = reader.big_endian<std::uint32_t>();
    reader.raw(data.token);
    return data;
}

} // namespace rpmem::wire
