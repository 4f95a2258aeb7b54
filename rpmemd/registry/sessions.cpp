// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/registry/sessions.hpp"

#include "common/base/hex.hpp"
#include "common/transport/crypto.hpp"
#include "rpmemd/registry/fence.hpp"
#include "rpmemd/registry/lock_holder.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>

namespace rpmem::target {
namespace {

constexpr std::string_view session_prefix = "session-";
constexpr int max_attempts = 5;

Result<std::string> new_name() {
    std::array<std::byte, 8> number{};
    transport::SystemRandom random;
    RPMEM_TRY(random.fill(number));
    return std::string(session_prefix) + hex_of(number);
}

bool remove_if_ended(const StateDirectory& directory, const std::string& name,
                     const StateFile& file) {
    if (!file.is_unlocked())
        return false;
    // While this process holds the shared lock, no session with this name can start or be served.
    if (file.is_at(directory, name))
        static_cast<void>(::unlinkat(directory.fd(), name.c_str(), 0));
    return true;
}

std::optional<LiveSession> look_at(const StateDirectory& directory, const std::string& name,
                                   const Log& log) {
    auto file = StateFile::open(directory, name);
    if (!file) {
        if (file.error().code != ENOENT)
            log.error("ignoring the file of a session: {}", file.error().text);
        return std::nullopt;
    }
    if (remove_if_ended(directory, name, *file))
        return std::nullopt;
    auto record = file->read<SessionRecord>();
    if (!record)
        log.error("ignoring the file of a session: {}", record.error().text);
    if (!record || !*record) // without a record, the file is just being created
        return std::nullopt;
    const auto holder = exclusive_holder(file->fd(), directory.fd());
    return LiveSession{.id = name.substr(session_prefix.size()),
                       .pid = holder ? holder->value_or(0) : 0,
                       .record = std::move(**record),
                       .last_seen = file->last_seen()};
}

} // namespace

Result<StateFile> make_session_file(const StateDirectory& directory, const SessionRecord& record) {
    for (int attempt = 0; attempt < max_attempts; ++attempt) {
        RPMEM_ASSIGN(const std::string name, new_name());
        RPMEM_ASSIGN(auto file, StateFile::make(directory, name));
        // Before the file was locked, another daemon may have removed it as that of an ended
        // session.
        if (!file.lock() || !file.is_at(directory, name))
            continue;
        RPMEM_TRY(file.write(record));
        return file;
    }
    return fail(ErrorClass::resource_limit, EAGAIN, "cannot lock a new file in {}",
                directory.path_of(""));
}

std::vector<LiveSession> live_sessions(const StateDirectory& directory, const Log& log) {
    std::vector<LiveSession> sessions;
    for (const std::string& name : directory.names(session_prefix))
        if (auto session = look_at(directory, name, log))
            sessions.push_back(std::move(*session));
    return sessions;
}

void remove_ended_sessions(const StateDirectory& directory) {
    std::size_t removed = 0;
    for (const std::string& name : directory.names(session_prefix)) {
        if (removed == max_removed)
            return;
        const auto file = StateFile::open(directory, name);
        removed += file && remove_if_ended(directory, name, *file) ? 1 : 0;
    }
}

Result<> end_daemon(const StateDirectory& directory, const LiveSession& session) {
    auto file = StateFile::open(directory, std::string(session_prefix) + session.id);
    if (!file)
        return file.error().code == ENOENT ? Result<>() : Result<>(Failure(file.error()));
    return fence(directory, *file);
}

Result<transport::Digest> key_of(const std::filesystem::path& pool_set) {
    transport::Digest digest;
    if (!transport::sha256({transport::bytes_of(pool_set.native())}, digest))
        return fail_errno(ErrorClass::resource_limit, ENOMEM, "libcrypto cannot hash");
    return digest;
}

std::string describe(const InitiatorName& initiator) {
    const auto known = [](const std::string& text) { return text.empty() ? "unknown" : text; };
    return fmt::format("user {} on host {} ({})", known(initiator.user), known(initiator.host),
                       known(initiator.address));
}

} // namespace rpmem::target
