// SPDX-License-Identifier: BSD-3-Clause
// push, pull and verify: the target's digests first, then what differs moves.
#include "tools/ctl/reading.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/transfer.hpp"
#include "tools/ctl/verbs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <numeric>

namespace rpmem::ctl {
namespace {

using nlohmann::json;
using Verb = Command::Verb;

constexpr std::size_t most_told = 1000; // ranges, in JSON
constexpr std::size_t most_lines = 20;  // likewise, for people

struct Comparison {
    PoolDigests pool;
    std::vector<std::size_t> chunks; // the ones that differ
    [[nodiscard]] std::uint64_t bytes() const {
        return std::accumulate(
            chunks.begin(), chunks.end(), std::uint64_t{0},
            [this](std::uint64_t sum, std::size_t i) { return sum + pool.range(i).size(); });
    }
};

// Neighbours together.
std::vector<Range> ranges_of(const Comparison& comparison) {
    std::vector<Range> ranges;
    for (const std::size_t i : comparison.chunks) {
        const Range range = comparison.pool.range(i);
        if (!ranges.empty() && ranges.back().end == range.begin)
            ranges.back().end = range.end;
        else
            ranges.push_back(range);
    }
    return ranges;
}

ActionAnswer ask_digests(const Context& context, std::uint64_t length) {
    const Progress progress("the target reads its pool", 0);
    std::vector<std::string> words = {"--digest", context.command.pool_set};
    if (length != 0)
        words.insert(words.end(), {"--length", std::to_string(length)});
    return ask_action(context.target, words, context.settings, longest_work);
}

ActionAnswer answer_of(const Error& error) { return failed_answer(error.code, error.text); }

json rates(std::uint64_t moved, std::chrono::steady_clock::time_point start) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {{"moved", moved},
            {"seconds", seconds},
            {"bytes_per_second",
             seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(moved) / seconds) : 0}};
}

// Moves what differs to the pool.
Result<json> move_to_pool(const Context& context, const ImageFile& file,
                          const Comparison& comparison) {
    const Command& command = context.command;
    const auto start = std::chrono::steady_clock::now();
    unsigned lanes = 0;
    if (!comparison.chunks.empty()) {
        RPMEM_ASSIGN(auto session, PoolSession::open(command.target, command.pool_set,
                                                     comparison.pool.length, command.lanes));
        lanes = session.lanes();
        Progress progress("pushing", comparison.bytes());
        RPMEM_TRY(push_chunks(session, comparison.pool, comparison.chunks, file, progress));
        RPMEM_TRY(session.close());
    }
    json report = rates(comparison.bytes(), start);
    report["lanes"] = lanes;
    return report;
}

json common_members(const Command& command, const Comparison& comparison) {
    return {{"format", 1},
            {"name", command.pool_set},
            {"file", command.file},
            {"size", comparison.pool.size},
            {"compared",
             comparison.pool.length - std::min(comparison.pool.first, comparison.pool.length)},
            {"first", comparison.pool.first},
            {"chunk", comparison.pool.chunk},
            {"differing", comparison.bytes()}};
}

json ranges_json(const std::vector<Range>& ranges) {
    json list = json::array();
    for (std::size_t i = 0; i < std::min(ranges.size(), most_told); ++i)
        list.push_back({{"offset", ranges[i].begin}, {"length", ranges[i].size()}});
    return list;
}

std::string describe_move(const json& document) {
    const auto number = [&](const char* name) { return number_of(document, name).value_or(0); };
    return fmt::format("moved {} of {} ({}/s, {} lanes){}\n", size_text(number("moved")),
                       size_text(number("compared")), size_text(number("bytes_per_second")),
                       number("lanes"),
                       number("first") > 0 ? "; the header of the pool is the target's own" : "");
}

std::string describe_verify(const json& document) {
    const auto number = [&](const json& object, const char* name) {
        return number_of(object, name).value_or(0);
    };
    if (flag_of(document, "equal"))
        return fmt::format("equal: {}\n", size_text(number(document, "compared")));
    std::string text = fmt::format(
        "{} of {} differ, in chunks of {}{}:\n", size_text(number(document, "differing")),
        size_text(number(document, "compared")), size_text(number(document, "chunk")),
        flag_of(document, "repaired") ? ", and were repaired" : "");
    std::size_t lines = 0;
    for (const json& range : member(document, "ranges")) {
        if (++lines > most_lines)
            return text + "  and more\n";
        text += fmt::format("  offset {:#x}, {}\n", number(range, "offset"),
                            size_text(number(range, "length")));
    }
    return text;
}

// push and verify.
ActionAnswer compare_and_push(const Context& context) {
    const Command& command = context.command;
    const auto file = ImageFile::open(command.file);
    if (!file)
        return answer_of(file.error());
    ActionAnswer asked = ask_digests(context, file->size());
    if (asked.status != status_done)
        return asked;
    Comparison comparison;
    const auto compared = [&]() -> Result<> {
        RPMEM_ASSIGN(comparison.pool, read_digests(asked.document));
        if (comparison.pool.length != file->size())
            return fail(ErrorClass::link_lost, EPROTO, "the target's digests are of other bytes");
        RPMEM_ASSIGN(comparison.chunks, differing_chunks(*file, comparison.pool, command.lanes));
        return {};
    }();
    if (!compared)
        return answer_of(compared.error());
    json document = common_members(command, comparison);
    const bool moves = command.verb == Verb::push || command.repair;
    if (moves) {
        const auto moved = move_to_pool(context, *file, comparison);
        if (!moved)
            return answer_of(moved.error());
        document.update(*moved);
    }
    const bool equal = comparison.chunks.empty();
    if (command.verb == Verb::verify) {
        const auto ranges = ranges_of(comparison);
        document.update({{"equal", equal},
                         {"repaired", moves && !equal},
                         {"ranges", ranges_json(ranges)},
                         {"all_ranges", ranges.size() <= most_told}});
    }
    return {std::move(document), equal || moves ? status_done : status_differs};
}

// A session that only reads takes the pool from nobody: an initiator that is cut off keeps its
// claim. The library reads the variable when it is first used.
Result<> only_read(const initiator::Settings& settings) {
    std::string commands;
    for (const std::string& command : settings.commands)
        commands += (commands.empty() ? "" : "|") + command + " --read-only";
    if (::setenv("RPMEM_CMD", commands.c_str(), 1) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot set RPMEM_CMD");
    return {};
}

Result<json> pull(const Context& context, const json& digests) {
    const Command& command = context.command;
    const auto start = std::chrono::steady_clock::now();
    Comparison comparison;
    RPMEM_ASSIGN(comparison.pool, read_digests(digests));
    if (comparison.pool.length != comparison.pool.size)
        return fail(ErrorClass::link_lost, EPROTO, "the target's digests are of other bytes");
    RPMEM_TRY(only_read(context.settings));
    // Before the file gets the size that the target names.
    RPMEM_ASSIGN(auto session, PoolSession::open(command.target, command.pool_set,
                                                 comparison.pool.size, command.lanes));
    RPMEM_ASSIGN(const auto file, ImageFile::make(command.file, comparison.pool.size));
    RPMEM_ASSIGN(comparison.chunks, differing_chunks(file, comparison.pool, command.lanes));
    std::uint64_t moved = 0;
    {
        Progress progress("pulling", comparison.bytes());
        RPMEM_ASSIGN(moved,
                     pull_chunks(session, comparison.pool, comparison.chunks, file, progress));
    }
    json document = common_members(command, comparison);
    document.update(rates(moved, start));
    document["lanes"] = session.lanes();
    RPMEM_TRY(session.close());
    return document;
}

ActionAnswer compare_and_pull(const Context& context) {
    ActionAnswer asked = ask_digests(context, 0);
    if (asked.status != status_done)
        return asked;
    auto pulled = pull(context, asked.document);
    return pulled ? ActionAnswer{std::move(*pulled), status_done} : answer_of(pulled.error());
}

} // namespace

int transfer_pool(const Context& context) {
    const ActionAnswer answer =
        context.command.verb == Verb::pull ? compare_and_pull(context) : compare_and_push(context);
    return print_answer(context.command, answer,
                        context.command.verb == Verb::verify ? describe_verify : describe_move);
}

} // namespace rpmem::ctl
