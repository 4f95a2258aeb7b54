// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/initiator_record.hpp"

#include "common/base/hex.hpp"
#include "common/base/io.hpp"
#include "common/base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace rpmem::initiator {
namespace {

constexpr std::uint64_t format = 1;
constexpr mode_t own_file = 0600;
constexpr mode_t own_directory = 0700;

// Takes the next word of LINE, up to a blank or the end.
std::string_view next_word(std::string_view& line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    return word;
}

bool decode_number(std::string_view word, std::uint64_t& number) {
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    return error == std::errc() && stop == end;
}

// REST is the line after its first word.
bool decode_only_number(std::string_view rest, std::uint64_t& number) {
    return decode_number(next_word(rest), number) && rest.empty();
}

bool decode_file(std::string_view rest, LocalFile& file) {
    std::uint64_t modified = 0;
    for (std::uint64_t* const number : {&file.identity.file_system, &file.identity.inode,
                                        &file.identity.inode_generation, &modified})
        if (!decode_number(next_word(rest), *number))
            return false;
    file.modified = static_cast<std::int64_t>(modified);
    return rest.empty();
}

// Decodes a line. NAME is its first word, and REST the rest.
bool decode_line(std::string_view name, std::string_view rest, InitiatorRecord& record) {
    if (name == "pool")
        return decode_hex(rest, record.pool);
    if (name == "epoch")
        return decode_only_number(rest, record.epoch);
    if (name == "opened_epoch")
        return decode_only_number(rest, record.opened_epoch);
    if (name == "attributes")
        return !record.attributes && decode_hex(rest, record.attributes.emplace());
    LocalFile file;
    if (name != "file" || record.files.size() == max_local_files || !decode_file(rest, file))
        return false;
    record.files.push_back(std::move(file));
    return true;
}

Failure cannot(const char* what, const std::string& path) {
    return fail_errno(ErrorClass::resource_limit, errno, "cannot {} {}", what, path);
}

Failure no_state_home() {
    return fail(ErrorClass::caller_fault, ENOENT,
                "there is no place for a record, because neither XDG_STATE_HOME nor HOME is an "
                "absolute path; set one of them");
}

Result<> sync_directory(const std::string& path) {
    const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0)
        return cannot("make durable", path);
    return {};
}

// Also creates missing parents. The XDG Base Directory Specification demands mode 0700. With the
// umask 002 of some systems, the group could otherwise write to ~/.local/state, and rpmemd refuses
// a state-dir below such a directory.
Result<> make_directory(const std::string& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1))
        static_cast<void>(::mkdir(path.substr(0, slash).c_str(), own_directory));
    if (::mkdir(path.c_str(), own_directory) != 0 && errno != EEXIST)
        return cannot("create", path);
    return {};
}

} // namespace

// Each line has a name and one or more values, separated by blanks.
std::string encode(const InitiatorRecord& record) {
    std::string text = fmt::format("version {}\npool {}\nepoch {}\nopened_epoch {}\n", format,
                                   hex_of(record.pool), record.epoch, record.opened_epoch);
    for (const LocalFile& file : record.files)
        text +=
            fmt::format("file {} {} {} {}\n", file.identity.file_system, file.identity.inode,
                        file.identity.inode_generation, static_cast<std::uint64_t>(file.modified));
    if (record.attributes)
        text += fmt::format("attributes {}\n", hex_of(*record.attributes));
    return text;
}

Result<InitiatorRecord> decode_initiator_record(std::string_view text) {
    InitiatorRecord record;
    std::size_t lines = 0;
    for (; !text.empty(); ++lines) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const std::string_view name = next_word(line);
        std::uint64_t version = 0;
        bool is_valid = end != std::string_view::npos;
        if (lines == 0)
            is_valid = is_valid && name == "version" && decode_only_number(line, version);
        if (is_valid && version > format)
            return fail(ErrorClass::caller_fault, ENOTSUP,
                        "its format is {}, but this librpmem knows formats only up to {}", version,
                        format);
        if (lines > 0)
            is_valid = is_valid && decode_line(name, line, record);
        if (!is_valid)
            return fail(ErrorClass::caller_fault, EBADMSG, "its line {} is damaged", lines + 1);
    }
    if (record.epoch == 0 || record.files.empty())
        return fail(ErrorClass::caller_fault, EBADMSG, "it lacks an epoch or files");
    return record;
}

InitiatorRecordFile::InitiatorRecordFile(const std::string& state_home,
                                         const std::array<std::byte, 16>& pool)
    : directory_(state_home.empty() ? std::string() : state_home + "/librpmem"),
      path_(directory_ + "/" + hex_of(pool)) {}

Result<std::optional<InitiatorRecord>> InitiatorRecordFile::read() const {
    if (directory_.empty())
        return no_state_home();
    const UniqueFd fd(
        ::open(path_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd && errno == ENOENT)
        return std::nullopt;
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return cannot("open", path_);
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return fail(ErrorClass::caller_fault, EACCES,
                    "{} is no regular file that only this user may write to; remove it", path_);
    std::string text(max_record_size + 1, '\0');
    if (const int code = read_file(fd.get(), text); code != 0) {
        errno = code;
        return cannot("read", path_);
    }
    if (text.size() > max_record_size)
        return fail(ErrorClass::caller_fault, EBADMSG, "{}: it is larger than {} bytes", path_,
                    max_record_size);
    RPMEM_ASSIGN(auto record, in_context(path_, decode_initiator_record(text)));
    return record;
}

Result<> InitiatorRecordFile::write(const InitiatorRecord& record) const {
    if (directory_.empty())
        return no_state_home();
    RPMEM_TRY(make_directory(directory_));
    const std::string text = encode(record);
    const std::string temporary = fmt::format("{}.{}", path_, ::getpid());
    // A killed process that had the same process ID may have left this file.
    static_cast<void>(::unlink(temporary.c_str()));
    const UniqueFd fd(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, own_file));
    if (!fd)
        return cannot("create", temporary);
    const auto put = ::write(fd.get(), text.data(), text.size());
    if (put != static_cast<ssize_t>(text.size()))
        errno = put < 0 ? errno : ENOSPC;
    if (put != static_cast<ssize_t>(text.size()) || ::fsync(fd.get()) != 0 ||
        ::rename(temporary.c_str(), path_.c_str()) != 0) {
        const Failure failure = cannot("write", path_);
        static_cast<void>(::unlink(temporary.c_str()));
        return failure;
    }
    return sync_directory(directory_);
}

Result<> InitiatorRecordFile::erase() const {
    if (directory_.empty())
        return {};
    if (::unlink(path_.c_str()) != 0)
        return errno == ENOENT ? Result<>() : cannot("remove", path_);
    return sync_directory(directory_);
}

} // namespace rpmem::initiator
