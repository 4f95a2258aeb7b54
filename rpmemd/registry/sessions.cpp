// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/sessions.hpp"

#include "common/transport/crypto.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>

namespace rpmem::target {
namespace {

constexpr std::string_view session_prefix = "session-";
constexpr int most_attempts = 5;

Result<std::string> new_name() {
    std::array<std::byte, 8> number{};
    transport::SystemRandom random;
    RPMEM_TRY(random.fill(number));
    std::string name(session_prefix);
    for (const std::byte byte : number)
        name += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return name;
}

std::optional<LiveSession> look_at(const StateDirectory& directory, const std::string& name,
                                   const Log& log) {
    auto file = StateFile::open(directory, name);
    if (!file) {
        if (file.error().code != ENOENT)
            log.error("the file of a session is passed over: {}", file.error().text);
        return std::nullopt;
    }
    if (file->lock()) {
        // By its lock nobody else makes, keeps or removes a session of this name.
        if (file->is_at(directory, name))
            static_cast<void>(::unlinkat(directory.fd(), name.c_str(), 0));
        return std::nullopt;
    }
    auto record = file->read<SessionRecord>();
    if (!record)
        log.error("the file of a session is passed over: {}", record.error().text);
    if (!record || !*record) // or it is being made
        return std::nullopt;
    return LiveSession{.id = name.substr(session_prefix.size()),
                       .record = std::move(**record),
                       .last_seen = file->last_seen()};
}

} // namespace

Result<StateFile> make_session_file(const StateDirectory& directory, const SessionRecord& record) {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        RPMEM_ASSIGN(const std::string name, new_name());
        RPMEM_ASSIGN(auto file, StateFile::make(directory, name));
        // Before it was locked, another daemon may have taken it for one that was left.
        if (!file.lock() || !file.is_at(directory, name))
            continue;
        RPMEM_TRY(file.write(record));
        return file;
    }
    return fail(ErrorClass::resource_limit, EAGAIN, "cannot keep a file in {}",
                directory.path_of(""));
}

std::vector<LiveSession> live_sessions(const StateDirectory& directory, const Log& log) {
    std::vector<LiveSession> sessions;
    for (const std::string& name : directory.names(session_prefix))
        if (auto session = look_at(directory, name, log))
            sessions.push_back(std::move(*session));
    return sessions;
}

Result<transport::Digest> key_of(const std::filesystem::path& pool_set) {
    transport::Digest digest;
    if (!transport::sha256({transport::bytes_of(pool_set.native())}, digest))
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash");
    return digest;
}

std::string describe_time(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm fields{};
    char text[64];
    if (::gmtime_r(&time, &fields) == nullptr ||
        std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &fields) == 0)
        return "an unknown time";
    return text;
}

std::string describe(const InitiatorName& initiator) {
    const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
    return fmt::format("user {} on host {} ({})", known(initiator.user), known(initiator.host),
                       known(initiator.address));
}

} // namespace rpmem::target
