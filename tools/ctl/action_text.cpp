// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/action_text.hpp"

#include "tools/ctl/reading.hpp"
#include "tools/ctl/text.hpp"

#include <fmt/format.h>

#include <ctime>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

std::string time_text(const json& object, const char* name) {
    const auto seconds = number_of(object, name);
    const auto time = static_cast<std::time_t>(seconds.value_or(0));
    std::tm fields{};
    char text[64];
    if (!seconds || ::localtime_r(&time, &fields) == nullptr ||
        std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &fields) == 0)
        return "unknown";
    return text;
}

std::string known(const json& object, const char* name) {
    const std::string text = text_of(object, name);
    return text.empty() ? "unknown" : text;
}

std::string client_text(const json& session) {
    return fmt::format("{}@{} ({})", known(session, "user"), known(session, "host"),
                       known(session, "address"));
}

std::string session_text(const json& session) {
    return fmt::format(
        "session {} of {}, process {}, since {}, last seen {}{}", text_of(session, "id"),
        client_text(session), number_of(session, "pid").value_or(0), time_text(session, "since"),
        time_text(session, "last_seen"), flag_of(session, "read_only") ? ", read-only" : "");
}

std::string size_of(const json& object, const char* name) {
    return size_text(number_of(object, name).value_or(0));
}

std::string part_text(const json& part) {
    std::string text = fmt::format("    {}  {}", text_of(part, "path"), size_of(part, "size"));
    if (number_of(part, "allocated").value_or(0) < number_of(part, "size").value_or(0) &&
        !flag_of(part, "device_dax"))
        text += fmt::format(", {} allocated", size_of(part, "allocated"));
    if (flag_of(part, "device_dax"))
        text += ", Device DAX";
    if (const auto system = text_of(part, "file_system"); !system.empty())
        text += ", on " + system;
    if (const auto medium = text_of(part, "medium"); !medium.empty())
        text += ": " + medium;
    if (flag_of(part, "locked"))
        text += ", locked";
    if (const auto problem = text_of(part, "problem"); !problem.empty())
        text += "\n      " + problem;
    return text + "\n";
}

std::string attributes_text(const json& attributes) {
    if (!attributes.is_object())
        return {};
    std::string text =
        fmt::format("  attributes\n    signature {}, version {}, features {:#x} {:#x} {:#x}\n",
                    text_of(attributes, "signature"), number_of(attributes, "major").value_or(0),
                    number_of(attributes, "compat_features").value_or(0),
                    number_of(attributes, "incompat_features").value_or(0),
                    number_of(attributes, "ro_compat_features").value_or(0));
    for (const char* name : {"poolset_uuid", "uuid", "prev_uuid", "next_uuid", "user_flags"})
        text += fmt::format("    {:<12} {}\n", name, text_of(attributes, name));
    return text + fmt::format("    created      {}\n", time_text(attributes, "created"));
}

// Returns an empty text if the target keeps no record, or the record shows no problem.
std::string record_text(const json& document) {
    std::string text;
    if (number_of(document, "catching_up_since"))
        text += fmt::format("  inconsistent: it has been catching up with its source since {}; run "
                            "the program of the source again, or make the pool equal to its source "
                            "(rpmemctl push)\n",
                            time_text(document, "catching_up_since"));
    if (number_of(document, "alone_since"))
        text += fmt::format(
            "  may lack calls that returned 0: the session that began {} could go on "
            "without it (RPMEM_ON_LOSS=alone) and was not closed; run its program "
            "again, make the pool equal to its source (rpmemctl push), or accept this copy "
            "(rpmemctl accept)\n",
            time_text(document, "alone_since"));
    else if (number_of(document, "behind_since"))
        text += fmt::format(
            "  may be behind since {}: a session was not closed, or another program has "
            "changed the parts; make the pool equal to its source (rpmemctl push), or "
            "remove it and create it again (pmempool sync)\n",
            time_text(document, "behind_since"));
    if (const auto failure = text_of(document, "medium_failure"); !failure.empty())
        text += "  the medium has failed: " + failure + "\n";
    if (const auto problem = text_of(document, "record_problem"); !problem.empty())
        text += "  record: " + problem + "\n";
    return text;
}

std::string shutdown_text(const json& document) {
    const json& state = member(document, "shutdown_state");
    if (!state.is_object())
        return "";
    return fmt::format("  shutdown state: {}, {} unsafe shutdowns of the devices\n",
                       flag_of(state, "dirty") ? "open" : "closed",
                       number_of(state, "unsafe_shutdowns").value_or(0));
}

// Returns an empty text if there is nothing to repair, or the daemon is too old to report repairs.
std::string repairs_text(const json& list) {
    std::string text;
    for (const json& command : list)
        if (command.is_string())
            text += "  " + printable(command.get_ref<const std::string&>()) + "\n";
    return text;
}

std::string with_repairs(std::string text, const std::string& repairs) {
    if (!repairs.empty())
        text += "others may write to these parts; to use them, run on the target:\n" + repairs;
    return text;
}

} // namespace

std::string describe_list(const json& document) {
    std::string text = fmt::format("pool sets in {}\n", text_of(document, "poolset_dir"));
    const json& sets = member(document, "pool_sets");
    if (!sets.is_array() || sets.empty())
        return text + "  none\n";
    for (const json& set : sets) {
        text += fmt::format("  {:<24} {:>10}  {}", text_of(set, "name"), size_of(set, "size"),
                            text_of(set, "state"));
        if (number_of(set, "catching_up_since"))
            text += ", inconsistent since " + time_text(set, "catching_up_since");
        else if (number_of(set, "alone_since"))
            text += ", may lack calls of a session that began " + time_text(set, "alone_since");
        for (const json& session : member(set, "sessions"))
            text += fmt::format(", {} since {}", client_text(session), time_text(session, "since"));
        if (const auto problem = text_of(set, "problem"); !problem.empty())
            text += ": " + problem;
        text += '\n';
    }
    if (!flag_of(document, "complete"))
        text += "  and more: the directory has too many files\n";
    return text;
}

std::string describe_info(const json& document) {
    std::string text = fmt::format("{}: {}, {}, headers: {}\n  parts\n", text_of(document, "name"),
                                   size_of(document, "size"), text_of(document, "state"),
                                   text_of(document, "headers"));
    for (const json& part : member(document, "parts"))
        text += part_text(part);
    text += attributes_text(member(document, "attributes"));
    if (const auto problem = text_of(document, "header_problem"); !problem.empty())
        text += "  header: " + problem + "\n";
    text += record_text(document) + shutdown_text(document) + "  in use\n";
    const json& sessions = member(document, "sessions");
    for (const json& session : sessions)
        text += "    by " + session_text(session) + "\n";
    if (!sessions.is_array() || sessions.empty())
        text += flag_of(document, "in_use") ? "    by a session or a program that is not shown\n"
                                            : "    no\n";
    if (const auto problem = text_of(document, "sessions_problem"); !problem.empty())
        text += "    the sessions are unknown: " + problem + "\n";
    return text;
}

std::string describe_check(const json& document) {
    const bool sound = flag_of(document, "sound");
    std::string text = fmt::format("{}: {}{}\n", text_of(document, "name"),
                                   sound ? "sound" : "NOT SOUND: ", text_of(document, "problem"));
    text += record_text(document) + shutdown_text(document);
    const json& writer = member(document, "last_writer");
    if (writer.is_object())
        text +=
            fmt::format("  last written by {}@{}, since {}, {}\n", known(writer, "user"),
                        known(writer, "host"), time_text(writer, "since"),
                        flag_of(writer, "closed") ? "and closed"
                                                  : "and NOT closed: it may lack the last calls");
    return with_repairs(std::move(text), repairs_text(member(document, "repairs")));
}

std::string describe_checks(const json& document) {
    std::string text = fmt::format("pools in {}\n", text_of(document, "poolset_dir"));
    std::string repairs;
    const json& pools = member(document, "pools");
    if (!pools.is_array() || pools.empty())
        text += "  none\n";
    for (const json& pool : pools) {
        text += fmt::format("  {:<24} {:>10}  {}", text_of(pool, "name"), size_of(pool, "size"),
                            text_of(pool, "state"));
        if (number_of(pool, "catching_up_since"))
            text += ", inconsistent since " + time_text(pool, "catching_up_since");
        else if (number_of(pool, "alone_since"))
            text += ", may lack calls of a session that began " + time_text(pool, "alone_since");
        else if (number_of(pool, "behind_since"))
            text += " since " + time_text(pool, "behind_since") +
                    ": a session was not closed, or another program has changed the parts";
        if (const auto problem = text_of(pool, "problem"); !problem.empty())
            text += ": " + problem;
        text += '\n';
        repairs += repairs_text(member(pool, "repairs"));
    }
    if (!flag_of(document, "complete"))
        text += "  and more, which were not checked: the directory has too many files\n";
    return with_repairs(std::move(text), repairs);
}

std::string describe_sessions(const json& document) {
    const json& sessions = member(document, "sessions");
    if (!sessions.is_array() || sessions.empty())
        return "no sessions\n";
    std::string text;
    for (const json& session : sessions)
        text += fmt::format("{}\n    {}\n", session_text(session),
                            text_of(session, "pool_set").empty() ? "no pool yet"
                                                                 : text_of(session, "pool_set"));
    return text;
}

std::string describe_evicted(const json& document) {
    return "evicted " + session_text(member(document, "evicted")) + "\n";
}

std::string describe_created(const json& document) {
    return flag_of(document, "created")
               ? fmt::format("created {}: {}\n", text_of(document, "name"),
                             size_of(document, "size"))
               : fmt::format("wrote {}; no pool was created\n", text_of(document, "name"));
}

std::string losses_text(const json& document) {
    if (number_of(document, "catching_up_since"))
        return fmt::format("it was catching up since {}, so its bytes are inconsistent",
                           time_text(document, "catching_up_since"));
    if (number_of(document, "alone_since"))
        return fmt::format("it may lack all that its program wrote since {}",
                           time_text(document, "alone_since"));
    if (number_of(document, "behind_since"))
        return fmt::format("it may lack the last calls of a session that began {}",
                           time_text(document, "behind_since"));
    return {};
}

std::string describe_accepted(const json& document) {
    if (!flag_of(document, "accepted"))
        return fmt::format("{} needs no accept: its last session was closed\n",
                           text_of(document, "name"));
    return fmt::format("accepted {} as epoch {}: {}\n", text_of(document, "name"),
                       number_of(document, "epoch").value_or(0), losses_text(document));
}

std::string describe_taken(const json& document) {
    std::string text;
    for (const json& session : member(document, "evicted"))
        text += "ended " + session_text(session) + "\n";
    text += fmt::format("took {}", text_of(document, "name"));
    if (const auto epoch = number_of(document, "epoch"))
        text += fmt::format(" as epoch {}", *epoch);
    if (const std::string losses = losses_text(document); !losses.empty())
        text += "; " + losses;
    return text + fmt::format("\nopen it on the target as {}\n", text_of(document, "pool_set"));
}

} // namespace rpmem::ctl
