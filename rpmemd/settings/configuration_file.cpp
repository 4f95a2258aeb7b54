// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/settings/configuration_file.hpp"

#include "common/base/io.hpp"
#include "common/base/text.hpp"
#include "rpmemd/pools/files/owner_and_mode.hpp"
#include "rpmemd/pools/files/trusted_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cctype>
#include <cerrno>

namespace rpmem::target {
namespace {

Result<> parse_line(Layer& layer, std::string_view line, std::string source) {
    if (line.size() > max_configuration_line_size)
        return invalid("the line has {} bytes, at most {} are allowed", line.size(),
                       max_configuration_line_size);
    if (line.find('\0') != std::string_view::npos)
        return invalid("the line has a NUL byte; is this a text file?");
    const auto statement = trimmed(line.substr(0, line.find('#')));
    if (statement.empty())
        return {};
    const auto equals = statement.find('=');
    if (equals == std::string_view::npos)
        return invalid("\"=\" is missing; write: key = value");
    return apply_setting(layer, trimmed(statement.substr(0, equals)),
                         {std::string(trimmed(statement.substr(equals + 1))), std::move(source)});
}

// Returns the beginning of LINE for an error text, with unprintable characters replaced.
std::string shown(std::string_view line) {
    constexpr std::size_t enough = 200;
    std::string text;
    for (const char character : line.substr(0, enough))
        text += std::isprint(static_cast<unsigned char>(character)) != 0 ? character : '?';
    return line.size() > enough ? text + "..." : text;
}

// Refuses a file that other users could have written, because it decides which files the daemon
// accesses.
Result<UniqueFd> open_trusted(const std::filesystem::path& file) {
    RPMEM_ASSIGN(const auto place, find_place(std::filesystem::absolute(file)));
    // With O_NONBLOCK a FIFO without a writer does not block the session.
    UniqueFd fd = open_place(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0)
        return fail_errno(ErrorClass::caller_fault, errno, "{}", file.native());
    if (S_ISCHR(status.st_mode) && status.st_uid == 0) // /dev/null, which everybody may write to
        return fd;
    if (!S_ISREG(status.st_mode))
        return invalid("{} is not a regular file", file.native());
    RPMEM_TRY(check_ownership(fd.get(), status, file.native()));
    return fd;
}

Result<std::string> read_bounded(const std::filesystem::path& file) {
    RPMEM_ASSIGN(const auto fd, in_context("cannot open the configuration file " + file.native(),
                                           open_trusted(file)));
    std::string text(max_configuration_file_size + 1, '\0');
    if (const int code = read_file(fd.get(), text); code != 0)
        return fail_errno(ErrorClass::caller_fault, code, "cannot read the configuration file {}",
                          file.native());
    if (text.size() > max_configuration_file_size)
        return fail(ErrorClass::caller_fault, EFBIG,
                    "the configuration file {} is too large: at most {} bytes are read",
                    file.native(), max_configuration_file_size);
    return text;
}

} // namespace

Result<Layer> parse_configuration(std::string_view text, const std::filesystem::path& file) {
    Layer layer;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto line = take_until(text, "\n");
        if (auto parsed = parse_line(layer, line, fmt::format("{}:{}", file.native(), number));
            !parsed) {
            Error error = std::move(parsed).error();
            error.text = fmt::format("{}, line {}: {}; the line is \"{}\"", file.native(), number,
                                     error.text, shown(line));
            return Failure(std::move(error));
        }
    }
    conclude(layer);
    return layer;
}

Result<Layer> read_configuration_file(const std::filesystem::path& file) {
    RPMEM_ASSIGN(auto text, read_bounded(file));
    return parse_configuration(text, file);
}

} // namespace rpmem::target
