// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/records.hpp"

#include "common/base/hex.hpp"
#include "common/base/log.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace rpmem::target {
namespace {

using nlohmann::json;
using transport::Digest;

// The format number. A record with a greater number is refused. New fields do not need a new number
// if an older version may drop them. An older version must not open a pool that is catching up, or
// whose initiator may go on alone, but it may open the pool afterwards. So a record gets the
// smallest number that has its fields.
constexpr std::uint64_t min_format = 2;
constexpr std::uint64_t format_with_states = 3;
constexpr std::uint64_t max_format_of(const SessionRecord&) { return min_format; }
constexpr std::uint64_t max_format_of(const PoolRecord&) { return format_with_states; }
constexpr std::uint64_t format_of(const SessionRecord&) { return min_format; }
std::uint64_t format_of(const PoolRecord& record) {
    return has_states(record) ? format_with_states : min_format;
}
constexpr std::size_t checksum_length = 2 * transport::digest_size; // in hexadecimal digits
constexpr std::size_t text_start = checksum_length + 1;             // after the blank

// Encodes a record. describe() has the list of fields for Writer and Reader.
class Writer {
public:
    Writer() = default;
    // The destructor of json allocates memory unless the object is empty.
    ~Writer() { object_.clear(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void field(const char* name, std::uint64_t& value) { object_[name] = value; }
    void optional_field(const char* name, auto& value) { field(name, value); }
    void field(const char* name, std::int64_t& value) { object_[name] = value; }
    void field(const char* name, bool& value) { object_[name] = value; }
    template <std::size_t size>
    void field(const char* name, std::array<std::byte, size>& value) {
        object_[name] = hex_of(value);
    }
    void path(const char* name, std::string& value) {
        object_[name] = hex_of(transport::bytes_of(value)); // it need not be valid UTF-8
    }
    void field(const char* name, std::string& value) {
        object_[name] = printable(value).substr(0, max_record_text);
    }
    [[nodiscard]] std::string text() const { return object_.dump(); }

private:
    json object_ = json::object();
};

// Decodes a record. Accepts any bytes. Ignores unknown fields.
class Reader {
public:
    explicit Reader(std::string_view text)
        : object_(json::parse(text, nullptr, /*allow_exceptions=*/false)) {}
    ~Reader() { object_.clear(); } // like that of Writer
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void field(const char* name, std::uint64_t& value) {
        if (const json* found = find(name, &json::is_number_unsigned))
            value = found->get<std::uint64_t>();
    }
    // Reads a field that an older version does not write.
    void optional_field(const char* name, auto& value) {
        if (object_.contains(name))
            field(name, value);
    }
    void field(const char* name, std::int64_t& value) {
        std::uint64_t seconds = 0; // times before the epoch do not occur
        field(name, seconds);
        check(name, seconds <= std::numeric_limits<std::int64_t>::max());
        value = static_cast<std::int64_t>(seconds);
    }
    void field(const char* name, bool& value) {
        if (const json* found = find(name, &json::is_boolean))
            value = found->get<bool>();
    }
    void field(const char* name, std::string& value) {
        if (const json* found = find(name, &json::is_string))
            value = found->get<std::string>();
        check(name, value.size() <= max_record_text && value == printable(value));
    }
    template <std::size_t size>
    void field(const char* name, std::array<std::byte, size>& value) {
        std::string text;
        field(name, text);
        check(name, decode_hex(text, value));
    }
    void path(const char* name, std::string& value) {
        const json* const found = find(name, &json::is_string);
        const std::string_view digits =
            found ? std::string_view(found->get_ref<const std::string&>()) : std::string_view();
        value.resize(std::min(digits.size() / 2, max_part_path));
        check(name, decode_hex(digits, std::as_writable_bytes(std::span(value))) &&
                        value.find('\0') == std::string::npos);
    }
    void check(const char* name, bool is_valid) {
        if (!is_valid && !invalid_)
            invalid_ = name;
    }
    // Returns the name of the first field that is missing or invalid, or null.
    [[nodiscard]] const char* invalid() const { return invalid_; }

private:
    const json* find(const char* name, bool (json::*is_type)() const noexcept) {
        const auto found = object_.find(name); // returns end() if the text is no object
        check(name, found != object_.end() && ((*found).*is_type)());
        return invalid_ ? nullptr : &*found;
    }

    json object_;
    const char* invalid_ = nullptr;
};

void describe(auto& fields, InitiatorName& name) {
    fields.field("host", name.host);
    fields.field("user", name.user);
    fields.field("address", name.address);
}

void describe(auto& fields, SessionRecord& record, std::uint64_t) {
    fields.field("owner", record.owner);
    fields.field("generation", record.generation);
    describe(fields, record.initiator);
    fields.field("pool_set", record.pool_set);
    fields.path("part", record.part);
    fields.field("pool_set_key", record.pool_set_key);
    fields.field("since", record.since);
    fields.field("read_only", record.read_only);
}

void describe(auto& fields, PoolRecord& record, std::uint64_t format) {
    fields.field("id", record.id);
    fields.field("epoch", record.epoch);
    fields.field("owner", record.owner);
    fields.field("generation", record.generation);
    describe(fields, record.initiator);
    fields.field("parts", record.parts);
    fields.field("headers", record.headers);
    fields.field("since", record.since);
    fields.field("closed", record.closed);
    fields.field("behind_since", record.behind_since);
    fields.field("failure", record.failure);
    fields.optional_field("written_epoch", record.written_epoch);
    fields.optional_field("modified", record.modified);
    fields.optional_field("released_epoch", record.released_epoch);
    if (format < format_with_states)
        return;
    fields.field("catching_up_since", record.catching_up_since);
    fields.optional_field("alone_since", record.alone_since);
    fields.optional_field("accepted_epoch", record.accepted_epoch);
}

void complete(SessionRecord&) {}
void complete(PoolRecord& record) {
    if (record.written_epoch == 0) // an older version has written the record
        record.written_epoch = record.epoch;
}

Result<Digest> checksum_of(std::string_view text) {
    Digest digest;
    if (!transport::sha256({transport::bytes_of(text)}, digest))
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash a record");
    return digest;
}

template <typename Record>
Result<std::string> encode_line(Record record, std::uint64_t sequence) {
    Writer writer;
    std::uint64_t format = format_of(record);
    writer.field("version", format);
    writer.field("sequence", sequence);
    describe(writer, record, format);
    const std::string text = writer.text();
    RPMEM_ASSIGN(const auto checksum, checksum_of(text));
    return fmt::format("{} {}\n", hex_of(checksum), text);
}

template <typename Record>
Result<Slot> encode(const Record& record, std::uint64_t sequence) {
    RPMEM_ASSIGN(const std::string line, encode_line(record, sequence));
    Slot slot{};
    if (line.size() > slot.size())
        return fail(ErrorClass::bug, EOVERFLOW,
                    "a record of {} bytes does not fit into its slot of {}", line.size(),
                    slot.size());
    std::ranges::copy(line, slot.begin());
    return slot;
}

Failure damaged(std::string_view what) {
    return fail(ErrorClass::caller_fault, EBADMSG, "{}: damaged, or written by something else",
                what);
}

template <typename Record>
Result<NewestRecord<Record>> decode_line(std::string_view slot) {
    const auto end = slot.find('\n');
    if (end == std::string_view::npos || end < text_start || slot[checksum_length] != ' ')
        return damaged("no record");
    const std::string_view text = slot.substr(text_start, end - text_start);
    Digest claimed;
    const auto checksum = checksum_of(text);
    if (!checksum)
        return damaged("a record whose checksum libcrypto cannot compute");
    if (!decode_hex(slot.substr(0, checksum_length), claimed) || claimed != *checksum)
        return damaged(fmt::format("a record with checksum {}, expected {}",
                                   printable(slot.substr(0, checksum_length)), hex_of(*checksum)));
    Reader reader(text);
    NewestRecord<Record> found;
    std::uint64_t format = 0;
    reader.field("version", format);
    if (!reader.invalid() && format > max_format_of(found.record))
        return fail(
            ErrorClass::caller_fault, ENOTSUP,
            "a record of format {}, but this rpmemd knows formats only up to {}; use the version "
            "that has written it, or a later one",
            format, max_format_of(found.record));
    reader.field("sequence", found.sequence);
    describe(reader, found.record, format);
    // A record in an unnecessarily late format was not written by this program.
    reader.check("version", format == format_of(found.record));
    // The greatest sequence is invalid, because the next record could not have a greater one.
    reader.check("sequence", found.sequence != std::numeric_limits<std::uint64_t>::max());
    complete(found.record);
    if (reader.invalid())
        return damaged(
            fmt::format("a record whose field \"{}\" is missing or invalid", reader.invalid()));
    return found;
}

} // namespace

std::string claim_text(const PoolRecord& record) {
    return fmt::format("{}-{}-{}", hex_of(record.id), record.epoch, record.generation);
}

Result<Slot> encode_slot(const SessionRecord& record, std::uint64_t sequence) {
    return encode(record, sequence);
}
Result<Slot> encode_slot(const PoolRecord& record, std::uint64_t sequence) {
    return encode(record, sequence);
}

Result<std::string> encode_attribute(const PoolRecord& record) { return encode_line(record, 0); }

Result<PoolRecord> decode_attribute(std::string_view value) {
    RPMEM_ASSIGN(auto found, decode_line<PoolRecord>(value));
    if (found.record.epoch == std::numeric_limits<std::uint64_t>::max())
        return damaged(fmt::format("a record with epoch {}, which is the maximum and never used",
                                   found.record.epoch));
    return std::move(found.record);
}

template <typename Record>
Result<std::optional<NewestRecord<Record>>> decode_file(std::string_view file) {
    std::optional<NewestRecord<Record>> newest;
    std::string why;
    for (std::size_t i = 0; i < state_file_size / slot_size; ++i) {
        const std::size_t start = std::min(i * slot_size, file.size());
        auto found = decode_line<Record>(file.substr(start, slot_size));
        if (!found && found.error().code == ENOTSUP)
            return Failure(found.error());
        if (!found && why.empty())
            why = found.error().text;
        if (!found || (newest && newest->sequence >= found->sequence))
            continue;
        found->slot = i;
        newest = std::move(*found);
    }
    const bool blank = std::ranges::all_of(file, [](char byte) { return byte == '\0'; });
    if (newest || (blank && file.size() <= state_file_size))
        return newest;
    return fail(ErrorClass::caller_fault, EBADMSG,
                "none of its {} records can be read; the first is {}", state_file_size / slot_size,
                why);
}

template Result<std::optional<NewestRecord<SessionRecord>>> decode_file(std::string_view);
template Result<std::optional<NewestRecord<PoolRecord>>> decode_file(std::string_view);

} // namespace rpmem::target
