// SPDX-License-Identifier: BSD-3-Clause
// The "string" of the ssh protocols (RFC 4251): its length in four bytes, then its bytes.
#pragma once

#include "common/base/text.hpp"
#include "common/wire/byte_reader.hpp"
#include "common/wire/byte_writer.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::initiator::ssh2 {

using Bytes = std::vector<std::byte>;

inline void put_string(wire::ByteWriter& writer, std::span<const std::byte> data) {
    writer.big_endian(static_cast<std::uint32_t>(data.size()));
    writer.raw(data);
}

inline void put_string(wire::ByteWriter& writer, std::string_view text) {
    put_string(writer, std::as_bytes(std::span(text)));
}

// Returns nothing if the string is incomplete.
template <typename Container = Bytes>
std::optional<Container> take_string(wire::ByteReader& reader) {
    const auto size = reader.big_endian<std::uint32_t>();
    if (size > reader.rest().size())
        return std::nullopt;
    Container bytes(size);
    reader.raw(bytes);
    return bytes;
}

// Returns the type at the beginning of a key or a signature, such as "ssh-ed25519".
inline std::string type_of(std::span<const std::byte> bytes) {
    wire::ByteReader reader(bytes);
    return text_of(take_string(reader).value_or(Bytes()));
}

} // namespace rpmem::initiator::ssh2
