// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/records.hpp"

#include "common/base/log.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace rpmem::target {
namespace {

using nlohmann::json;
using transport::Digest;

constexpr std::uint64_t version = 1;
constexpr std::size_t checksum_length = 2 * transport::digest_size; // in hexadecimal digits
constexpr std::size_t text_start = checksum_length + 1;             // behind the blank

std::string hex_of(const Digest& digest) {
    std::string text;
    for (const std::byte byte : digest)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

std::optional<unsigned> digit_of(char character) {
    if (character >= '0' && character <= '9')
        return character - '0';
    if (character >= 'a' && character <= 'f')
        return character - 'a' + 10;
    return std::nullopt;
}

std::optional<Digest> digest_of(std::string_view text) {
    Digest digest{};
    if (text.size() != checksum_length)
        return std::nullopt;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const auto high = digit_of(text[2 * i]);
        const auto low = digit_of(text[2 * i + 1]);
        if (!high || !low)
            return std::nullopt;
        digest[i] = static_cast<std::byte>(*high << 4 | *low);
    }
    return digest;
}

// Both directions have one list of fields: see describe().
class Writer {
public:
    Writer() = default;
    // Behind it the destructor of json allocates nothing, which it otherwise does.
    ~Writer() { object_.clear(); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    void field(const char* name, std::uint64_t& value) { object_[name] = value; }
    void field(const char* name, std::int64_t& value) { object_[name] = value; }
    void field(const char* name, bool& value) { object_[name] = value; }
    void field(const char* name, Digest& value) { object_[name] = hex_of(value); }
    void field(const char* name, std::string& value) {
        object_[name] = printable(value).substr(0, most_record_text);
    }
    [[nodiscard]] std::string text() const { return object_.dump(); }

private:
    json object_ = json::object();
};

// A file may hold anything. Fields that nobody knows are passed over.
class Reader {
public:
    explicit Reader(std::string_view text)
        : object_(json::parse(text, nullptr, /*allow_exceptions=*/false)) {}
    ~Reader() { object_.clear(); } // as Writer's
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void field(const char* name, std::uint64_t& value) {
        if (const json* found = find(name, &json::is_number_unsigned))
            value = found->get<std::uint64_t>();
    }
    void field(const char* name, std::int64_t& value) {
        std::uint64_t seconds = 0; // none is before the epoch
        field(name, seconds);
        good_ &= seconds <= std::numeric_limits<std::int64_t>::max();
        value = static_cast<std::int64_t>(seconds);
    }
    void field(const char* name, bool& value) {
        if (const json* found = find(name, &json::is_boolean))
            value = found->get<bool>();
    }
    void field(const char* name, std::string& value) {
        if (const json* found = find(name, &json::is_string))
            value = found->get<std::string>();
        good_ &= value.size() <= most_record_text && value == printable(value);
    }
    void field(const char* name, Digest& value) {
        std::string text;
        field(name, text);
        const auto digest = digest_of(text);
        good_ &= digest.has_value();
        value = digest.value_or(Digest{});
    }
    [[nodiscard]] bool good() const { return good_; }

private:
    const json* find(const char* name, bool (json::*is_type)() const noexcept) {
        const auto found = object_.find(name); // of no object: end()
        good_ &= found != object_.end() && ((*found).*is_type)();
        return good_ ? &*found : nullptr;
    }

    json object_;
    bool good_ = true;
};

void describe(auto& fields, InitiatorName& name) {
    fields.field("host", name.host);
    fields.field("user", name.user);
    fields.field("address", name.address);
}

void describe(auto& fields, SessionRecord& record) {
    fields.field("pid", record.daemon.pid);
    fields.field("start_time", record.daemon.start_time);
    fields.field("machine", record.daemon.machine);
    fields.field("owner", record.owner);
    fields.field("generation", record.generation);
    describe(fields, record.initiator);
    fields.field("pool_set", record.pool_set);
    fields.field("pool_set_key", record.pool_set_key);
    fields.field("since", record.since);
    fields.field("read_only", record.read_only);
}

void describe(auto& fields, PoolRecord& record) {
    fields.field("owner", record.owner);
    fields.field("generation", record.generation);
    describe(fields, record.initiator);
    fields.field("pool_set", record.pool_set);
    fields.field("parts", record.parts);
    fields.field("headers", record.headers);
    fields.field("since", record.since);
    fields.field("closed", record.closed);
}

Result<Digest> checksum_of(std::string_view text) {
    Digest digest;
    if (!transport::sha256({transport::bytes_of(text)}, digest))
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash a record");
    return digest;
}

template <typename Record>
Result<Slot> encode(Record record, std::uint64_t sequence) {
    Writer writer;
    std::uint64_t known = version;
    writer.field("version", known);
    writer.field("sequence", sequence);
    describe(writer, record);
    const std::string text = writer.text();
    RPMEM_ASSIGN(const auto checksum, checksum_of(text));
    const std::string line = fmt::format("{} {}\n", hex_of(checksum), text);
    Slot slot{};
    if (line.size() > slot.size())
        return fail(ErrorClass::bug, EOVERFLOW, "a record of {} bytes does not fit into its slot",
                    line.size());
    std::ranges::copy(line, slot.begin());
    return slot;
}

template <typename Record>
std::optional<NewestRecord<Record>> decode_slot(std::string_view slot) {
    const auto end = slot.find('\n');
    if (end == std::string_view::npos || end < text_start || slot[checksum_length] != ' ')
        return std::nullopt;
    const std::string_view text = slot.substr(text_start, end - text_start);
    const auto claimed = digest_of(slot.substr(0, checksum_length));
    const auto checksum = checksum_of(text);
    if (!claimed || !checksum || *claimed != *checksum)
        return std::nullopt;
    Reader reader(text);
    NewestRecord<Record> found;
    std::uint64_t known = 0;
    reader.field("version", known);
    reader.field("sequence", found.sequence);
    describe(reader, found.record);
    // There is one more: that of the next record.
    if (!reader.good() || known != version ||
        found.sequence == std::numeric_limits<std::uint64_t>::max())
        return std::nullopt;
    return found;
}

} // namespace

Result<Slot> encode_slot(const SessionRecord& record, std::uint64_t sequence) {
    return encode(record, sequence);
}
Result<Slot> encode_slot(const PoolRecord& record, std::uint64_t sequence) {
    return encode(record, sequence);
}

template <typename Record>
Result<std::optional<NewestRecord<Record>>> decode_file(std::string_view file) {
    std::optional<NewestRecord<Record>> newest;
    for (std::size_t i = 0; i < state_file_size / slot_size; ++i) {
        const std::size_t start = std::min(i * slot_size, file.size());
        auto found = decode_slot<Record>(file.substr(start, slot_size));
        if (!found || (newest && newest->sequence >= found->sequence))
            continue;
        found->slot = i;
        newest = std::move(found);
    }
    const bool blank = std::ranges::all_of(file, [](char byte) { return byte == '\0'; });
    if (newest || (blank && file.size() <= state_file_size))
        return newest;
    return fail(ErrorClass::caller_fault, EBADMSG,
                "neither of its two records can be read: it was damaged, or written by something "
                "else");
}

template Result<std::optional<NewestRecord<SessionRecord>>> decode_file(std::string_view);
template Result<std::optional<NewestRecord<PoolRecord>>> decode_file(std::string_view);

} // namespace rpmem::target
