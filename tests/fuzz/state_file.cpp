// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the files of state-dir and the attribute of a pool: the input unchanged, and with a valid
// checksum. A text without bounds or with control characters, or a record that is written and read
// back differently, fails.
#include "rpmemd/registry/records.hpp"
#include "tests/fuzz/property.hpp"

namespace {

using namespace rpmem;
using namespace rpmem::target;
using fuzz::require;

template <typename Record>
void check(const std::string& file) {
    const auto decoded = decode_file<Record>(file);
    if (!decoded) {
        fuzz::require_error(decoded.error(), {EBADMSG, ENOTSUP});
        return;
    }
    if (!*decoded)
        return;
    const auto& newest = **decoded;
    require(newest.record.initiator.user.size() <= max_record_text, "texts are bounded");
    require(
        !fuzz::has_control_character(newest.record.initiator.user + newest.record.initiator.host),
        "texts are printable");
    const auto slot = encode_slot(newest.record, newest.sequence);
    require(slot.has_value(), "what was read can be written");
    const auto again = decode_file<Record>({slot->data(), slot->size()});
    require(again && *again && (*again)->record == newest.record &&
                (*again)->sequence == newest.sequence,
            "what was written is read as it was");
}

void check_attribute(const std::string& value) {
    const auto decoded = decode_attribute(value);
    if (!decoded)
        return fuzz::require_error(decoded.error(), {EBADMSG, ENOTSUP});
    const auto encoded = encode_attribute(*decoded);
    const auto again =
        encoded ? decode_attribute(*encoded) : Result<PoolRecord>(Failure(encoded.error()));
    require(again && *again == *decoded, "what was written is read as it was");
}

std::string sealed(const std::string& text) {
    transport::Digest digest;
    require(transport::sha256({transport::bytes_of(text)}, digest), "there is memory");
    std::string slot;
    for (const std::byte byte : digest)
        slot += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return slot + " " + text + "\n";
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    for (const std::string& file : {text, sealed(text)}) {
        check<SessionRecord>(file);
        check<PoolRecord>(file);
        check_attribute(file);
    }
    return 0;
}
