// SPDX-License-Identifier: BSD-3-Clause
// push, pull and verify: compare the identities, then the digests, and copy the differing chunks.
#include "common/base/hex.hpp"
#include "librpmem/replica/initiator_record.hpp"
#include "librpmem/replica/proof.hpp"
#include "tools/compare/partial_pool.hpp"
#include "tools/ctl/comparing.hpp"
#include "tools/ctl/reading.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/transfer.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

namespace rpmem::ctl {
namespace {

using nlohmann::json;
using Verb = Command::Verb;

constexpr std::size_t max_ranges = 1000; // in JSON output
constexpr std::size_t max_lines = 20;    // of ranges, in text output
constexpr const char* marked_text =
    "the target no longer marks the pool as behind or catching up\n";

json rates(std::uint64_t moved, std::chrono::steady_clock::time_point start) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {{"moved", moved},
            {"seconds", seconds},
            {"bytes_per_second",
             seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(moved) / seconds) : 0}};
}

// Copies the differing chunks to the pool.
Result<json> move_to_pool(const Context& context, const LocalPool& local,
                          const Comparison& comparison) {
    const Command& command = context.command;
    auto start = std::chrono::steady_clock::now();
    unsigned lanes = 0;
    if (!comparison.chunks.empty()) {
        RPMEM_ASSIGN(auto session, PoolSession::open(command.target, command.pool_set,
                                                     comparison.pool.length, command.lanes));
        lanes = session.lanes();
        start = std::chrono::steady_clock::now(); // a login is no copying
        Progress progress("pushing", comparison.differing());
        RPMEM_TRY(push_chunks(session, comparison.pool, comparison.chunks, local, progress));
        RPMEM_TRY(session.close());
    }
    json report = rates(comparison.differing(), start);
    report["lanes"] = lanes;
    return report;
}

json common_members(const Command& command, const Comparison& comparison) {
    return {{"format", 1},
            {"name", command.pool_set},
            {"file", command.file},
            {"size", comparison.pool.size},
            {"compared", comparison.pool.compared()},
            {"not_compared", comparison.preparation.not_compared},
            {"mismatches", comparison.preparation.mismatches},
            {"first", comparison.pool.first},
            {"chunk", comparison.pool.chunk},
            {"differing", comparison.differing()}};
}

json ranges_json(const std::vector<Range>& ranges) {
    json list = json::array();
    for (std::size_t i = 0; i < std::min(ranges.size(), max_ranges); ++i)
        list.push_back({{"offset", ranges[i].begin}, {"length", ranges[i].size()}});
    return list;
}

std::uint64_t number(const json& object, const char* name) {
    return number_of(object, name).value_or(0);
}

std::string texts_of(const json& document, const char* name, const char* heading) {
    std::string text;
    for (const json& each : member(document, name))
        if (each.is_string())
            text += fmt::format("{}: {}\n", heading, printable(each.get_ref<const std::string&>()));
    return text;
}

std::string describe_move(const json& document) {
    return fmt::format("moved {} of {} ({}/s, {} lanes)\n", size_text(number(document, "moved")),
                       size_text(number(document, "compared")),
                       size_text(number(document, "bytes_per_second")), number(document, "lanes")) +
           (flag_of(document, "marked_equal") ? marked_text : "") +
           texts_of(document, "mismatches", "note") +
           texts_of(document, "not_compared", "not compared, and not moved by itself");
}

std::string describe_verify(const json& document) {
    const std::string notes = (flag_of(document, "marked_equal") ? marked_text : "") +
                              texts_of(document, "mismatches", "not equal") +
                              texts_of(document, "not_compared", "not compared");
    if (flag_of(document, "equal"))
        return fmt::format("equal: {}\n{}", size_text(number(document, "compared")), notes);
    std::string text = fmt::format(
        "{} of {} differ, in chunks of {}{}{}\n", size_text(number(document, "differing")),
        size_text(number(document, "compared")), size_text(number(document, "chunk")),
        flag_of(document, "repaired") ? ", and were repaired" : "",
        number(document, "differing") > 0 ? ":" : "");
    std::size_t lines = 0;
    for (const json& range : member(document, "ranges")) {
        if (++lines > max_lines)
            return text.append("  and more\n").append(notes);
        text += fmt::format("  offset {:#x}, {}\n", number(range, "offset"),
                            size_text(number(range, "length")));
    }
    return text + notes;
}

// Adds CLAIM to DOCUMENT. Returns the exit status of a transfer that has succeeded. If the claim is
// unknown, another session may have written in the meantime, so the status is not status_done.
int add_claim(json& document, const PoolClaim& claim) {
    if (!claim.unknown.empty()) {
        document["not_compared"].push_back(
            fmt::format("whether a program wrote to the pool meanwhile: {}", claim.unknown));
        return status_unknown;
    }
    document["pool_id"] = claim.id.empty() ? json(nullptr) : json(claim.id);
    document["epoch"] = claim.epoch;
    return status_done;
}

// Clears the target's mark that the pool may be behind, if it has one. Both sides are equal, and
// CLAIM shows that no other session has written since.
ActionAnswer clear_mark(const Context& context, const PoolClaim& claim, ActionAnswer done) {
    const bool marked = claim.unknown.empty() && claim.is_marked;
    done.document["marked_equal"] = false;
    if (!marked)
        return done;
    const ActionAnswer answer = mark_equal(context, claim);
    if (answer.status == status_done) {
        done.document["marked_equal"] = true;
        return done;
    }
    const json& error = member(answer.document, "error");
    ActionAnswer failed = failed_answer(
        static_cast<int>(number(error, "code")),
        "the pool is equal, but the target still marks it as behind or catching up: " +
            text_of(error, "text"));
    failed.status = answer.status;
    return failed;
}

std::optional<std::vector<initiator::LocalFile>> files_of(const LocalPool& local) {
    std::vector<initiator::LocalFile> files;
    for (const compare::PoolFile& file : local.files()) {
        auto found = initiator::local_file(file.fd(), file.path());
        if (!found)
            return std::nullopt;
        files.push_back(std::move(*found));
    }
    return files;
}

// LOCAL has been copied to the pool, so its program is the source: the record of this machine says
// so, also after an operator has accepted the pool under an earlier epoch. A record of other files
// stays, because the program with those files may be barred from the pool.
Result<> record_source(const Context& context, const LocalPool& local, const PoolClaim& claim) {
    std::array<std::byte, 16> id{};
    auto files = files_of(local);
    if (!files || !claim.unknown.empty() || !decode_hex(claim.id, id))
        return {};
    const initiator::InitiatorRecordFile file(context.settings.state_home, id);
    const auto former = file.read();
    if (!former || (*former && !initiator::are_same_files((*former)->files, *files)))
        return {};
    return in_context(
        "the pool is equal, but nothing will prove to it that its program on this machine is the "
        "source",
        file.write({id, claim.epoch, claim.epoch, std::move(*files)}));
}

// The last step of push and verify.
ActionAnswer finish_push(const Context& context, const LocalPool& local,
                         const Comparison& comparison) {
    const Command& command = context.command;
    json document = common_members(command, comparison);
    const bool moves = command.verb == Verb::push || command.repair;
    if (moves) {
        const auto moved = move_to_pool(context, local, comparison);
        if (!moved)
            return answer_of(moved.error());
        document.update(*moved);
    }
    const bool same = comparison.chunks.empty();
    const bool equal = same && comparison.preparation.mismatches.empty();
    const auto claim =
        check_claim(context, comparison.claim, moves && !same,
                    moves ? "the pool may not be equal to the file; repeat the command"
                          : "what was compared is of two states of the pool; repeat the command");
    if (!claim)
        return claim.error();
    const int status = add_claim(document, *claim);
    if (command.verb == Verb::verify) {
        const auto ranges = comparison.ranges();
        document.update({{"equal", equal},
                         {"repaired", moves && !same},
                         {"ranges", ranges_json(ranges)},
                         {"all_ranges", ranges.size() <= max_ranges}});
    }
    ActionAnswer done{std::move(document), equal || moves ? status : status_differs};
    if (!moves || !comparison.preparation.mismatches.empty())
        return done;
    if (!same || claim->is_accepted)
        if (const auto recorded = record_source(context, local, *claim); !recorded)
            return answer_of(recorded.error());
    return clear_mark(context, *claim, std::move(done));
}

// Makes the library open pools read-only. Such a session does not take a pool over from an
// initiator that has lost its connection. The library reads this variable at its first use.
// --read-only in RPMEM_CMD would have no effect, because the library reads RPMEM_CMD when it is
// loaded.
Result<> only_read() {
    if (::setenv("RPMEM_READ_ONLY", "1", 1) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot set RPMEM_READ_ONLY");
    return {};
}

ActionAnswer compare_and_push(const Context& context) {
    const auto local = LocalPool::open(context.command.file, compare::PoolFile::Use::read);
    if (!local)
        return answer_of(local.error());
    const auto remote = ask_pool(context);
    if (!remote)
        return remote.error();
    const auto comparison =
        prepare_comparison(context, *local, remote->side)
            .and_then([&](compare::Preparation preparation) {
                return ask_for_digests(context, std::move(preparation), remote->claim);
            })
            .and_then([&](Comparison asked) -> Answered<Comparison> {
                auto found = find_differences(context, *local, std::move(asked));
                if (!found)
                    return tl::unexpected(answer_of(found.error()));
                return std::move(*found);
            });
    return comparison ? finish_push(context, *local, *comparison) : comparison.error();
}

// Returns the failure for FILE, which contains another pool and would be overwritten.
ActionAnswer refuse_other_pool(const std::string& file) {
    ActionAnswer refused = failed_answer(
        EINVAL, fmt::format("{} is another pool, and would be overwritten; nothing was moved "
                            "(--force overwrites it, or name another file)",
                            file));
    refused.status = status_differs;
    return refused;
}

bool has_data(const std::string& file) {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
}

// Fails if the image, or the partial image of an interrupted pull, belongs to another pool.
Answered<compare::Preparation> prepare_pull(const Context& context, const compare::Side& remote) {
    const std::string& image = context.command.file;
    for (const std::string& file : {image, compare::partial_name(image)}) {
        if (!has_data(file))
            continue;
        const auto local =
            LocalPool::open(file, compare::PoolFile::Use::read, LocalPool::Interrupted::accepted);
        if (!local)
            return tl::unexpected(answer_of(local.error()));
        if (local->is_pool_set())
            return prepare_comparison(context, *local, remote);
        const auto side = local->side();
        if (!side)
            return tl::unexpected(answer_of(side.error()));
        if (side->identity && side->identity != remote.identity && !context.command.force)
            return tl::unexpected(refuse_other_pool(file));
    }
    return compare::Preparation{.length = remote.size};
}

struct Pulled {
    compare::PartialPool partial;
    json document;
};

// A target could report any size. The file gets that size only after a session has opened a pool of
// that size.
Result<Pulled> pull_into_partial(const Context& context, Comparison asked) {
    const Command& command = context.command;
    const auto start = std::chrono::steady_clock::now();
    RPMEM_TRY(only_read());
    RPMEM_ASSIGN(auto session, PoolSession::open(command.target, command.pool_set,
                                                 asked.pool.length, command.lanes));
    RPMEM_ASSIGN(auto partial, compare::PartialPool::begin(command.file, asked.pool.size));
    const LocalPool& local = partial.pool();
    RPMEM_ASSIGN(const auto comparison, find_differences(context, local, std::move(asked)));
    std::uint64_t moved = 0;
    if (!comparison.chunks.empty())
        RPMEM_TRY(partial.mark());
    {
        Progress progress("pulling", comparison.differing());
        RPMEM_ASSIGN(moved,
                     pull_chunks(session, comparison.pool, comparison.chunks, local, progress));
    }
    json document = common_members(command, comparison);
    document.update(rates(moved, start));
    document["lanes"] = session.lanes();
    RPMEM_TRY(session.close());
    return Pulled{std::move(partial), std::move(document)};
}

ActionAnswer pull_failed(const std::string& file, Error error) {
    if (const auto partial = compare::partial_name(file); has_data(partial))
        error.text +=
            fmt::format("; {} has what was copied, and the next pull continues it", partial);
    return answer_of(error);
}

ActionAnswer compare_and_pull(const Context& context) {
    const auto remote = ask_pool(context);
    if (!remote)
        return remote.error();
    auto asked =
        prepare_pull(context, remote->side).and_then([&](compare::Preparation preparation) {
            return ask_for_digests(context, std::move(preparation), remote->claim);
        });
    if (!asked)
        return asked.error();
    const PoolClaim before = asked->claim;
    auto pulled = pull_into_partial(context, std::move(*asked));
    if (!pulled)
        return pull_failed(context.command.file, std::move(pulled).error());
    const auto claim = check_claim(context, before, false,
                                   "what was copied may be of two states of the pool, and keeps "
                                   "the suffix .partial; pull it again");
    if (!claim)
        return claim.error();
    if (auto committed = pulled->partial.commit(); !committed)
        return pull_failed(context.command.file, std::move(committed).error());
    const int status = add_claim(pulled->document, *claim);
    return {std::move(pulled->document), status};
}

} // namespace

int transfer_pool(const Context& context) {
    const ActionAnswer answer =
        context.command.verb == Verb::pull ? compare_and_pull(context) : compare_and_push(context);
    return print_answer(context.command, answer,
                        context.command.verb == Verb::verify ? describe_verify : describe_move);
}

} // namespace rpmem::ctl
