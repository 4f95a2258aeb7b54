// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/text.hpp"

#include "tools/ctl/reading.hpp"

#include <fmt/format.h>

namespace rpmem::ctl {
namespace {

using nlohmann::json;

std::string joined(const json& list) {
    std::string text;
    if (list.is_array())
        for (const json& element : list)
            if (element.is_string())
                text +=
                    (text.empty() ? "" : " ") + printable(element.get_ref<const std::string&>());
    return text;
}

std::string providers_text(const json& report) {
    std::string text = "  providers\n";
    for (const json& provider : member(report, "providers"))
        text += fmt::format("    {:<10} {}\n", text_of(provider, "name"),
                            flag_of(provider, "usable") ? "can be used"
                                                        : "no: " + text_of(provider, "why_not"));
    return text;
}

std::string ports_text(const json& device) {
    std::string text;
    for (const json& port : member(device, "ports")) {
        text += fmt::format("      port {} {}, {}", number_of(port, "number").value_or(0),
                            text_of(port, "state"), text_of(port, "link_layer"));
        if (const auto names = joined(member(port, "interfaces")); !names.empty())
            text += fmt::format(", {}: {}", names, joined(member(port, "addresses")));
        text += '\n';
    }
    return text;
}

std::string devices_text(const json& report) {
    std::string text = "  RDMA devices\n";
    const json& devices = member(report, "devices");
    if (!devices.is_array() || devices.empty())
        return text + "    none\n";
    for (const json& device : devices) {
        const std::string fault = text_of(device, "fault");
        text += fmt::format("    {:<10} {}\n{}", text_of(device, "name"),
                            fault.empty() ? "can be used" : fault, ports_text(device));
        text += fmt::format("      on-demand paging: {}\n",
                            flag_of(device, "on_demand_paging")
                                ? "yes"
                                : "no, " + text_of(device, "why_no_paging"));
    }
    return text;
}

std::string limit_text(const json& limit, const char* name, bool in_bytes) {
    const auto value = number_of(limit, name);
    if (!value)
        return "unlimited";
    return in_bytes ? size_text(*value) : std::to_string(*value);
}

std::string limits_text(const json& report) {
    const json& lock = member(member(report, "limits"), "memlock");
    const json& files = member(member(report, "limits"), "nofile");
    return fmt::format("  limits\n"
                       "    memory that may be locked: {} (hard limit {}){}\n"
                       "    open files: {} (hard limit {})\n"
                       "  fork\n    {}\n",
                       limit_text(lock, "soft", true), limit_text(lock, "hard", true),
                       flag_of(lock, "exempt") ? ", does not count: CAP_IPC_LOCK" : "",
                       limit_text(files, "soft", false), limit_text(files, "hard", false),
                       text_of(member(report, "fork"), "text"));
}

std::string storage_text(const json& report) {
    const json& storage = member(report, "storage");
    std::string text = "  persistent memory\n";
    const json& devices = member(storage, "devices");
    if (!devices.is_array() || devices.empty())
        text += "    none\n";
    for (const json& device : devices) {
        text += fmt::format("    {:<12} {} {}", text_of(device, "name"), text_of(device, "mode"),
                            size_text(number_of(device, "size").value_or(0)));
        if (const auto mount = text_of(device, "mount"); !mount.empty())
            text += fmt::format(", on {} {}", mount,
                                flag_of(device, "dax") ? "with DAX" : "without DAX");
        text += '\n';
        const auto deep_flush = text_of(device, "deep_flush");
        if (!deep_flush.empty() && !flag_of(device, "may_deep_flush"))
            text += fmt::format("      this user may not write to {}: deep flushes do nothing\n",
                                deep_flush);
    }
    return text;
}

std::string daemon_text(const json& report) {
    const json& daemon = member(report, "daemon");
    if (!daemon.is_object())
        return {};
    const std::string problem = text_of(daemon, "poolset_dir_problem");
    const std::string medium = text_of(daemon, "poolset_dir_medium");
    return fmt::format("  rpmemd\n"
                       "    pool sets in {}{}{}\n"
                       "    general purpose method {}, appliance method {}\n"
                       "    listens on {}\n"
                       "  appliance method\n    {}\n",
                       text_of(daemon, "poolset_dir"), problem.empty() ? "" : ": " + problem,
                       medium.empty() ? "" : ", on " + medium,
                       flag_of(daemon, "persist_general") ? "on" : "off",
                       flag_of(daemon, "persist_apm") ? "on" : "off", text_of(daemon, "address"),
                       text_of(member(report, "storage"), "advice"));
}

std::string lines(const char* heading, const std::vector<std::string>& texts) {
    std::string text;
    for (const std::string& one : texts)
        text += fmt::format("  {}{}\n", heading, one);
    return text;
}

} // namespace

std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kibi = 1024;
    if (bytes >= kibi * kibi * kibi)
        return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (kibi * kibi * kibi));
    if (bytes >= kibi * kibi)
        return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kibi * kibi));
    return fmt::format("{} KiB", bytes / kibi);
}

std::string describe_node(const std::string& title, const json& report) {
    return fmt::format("{}: {} ({}, {}, libfabric {})\n", title, text_of(report, "host"),
                       text_of(report, "kernel"), text_of(report, "program"),
                       text_of(report, "libfabric").empty() ? "missing"
                                                            : text_of(report, "libfabric")) +
           providers_text(report) + devices_text(report) + limits_text(report) +
           storage_text(report) + daemon_text(report);
}

std::string describe(const Verdict& verdict, const std::string& target) {
    const std::string where = target.empty() ? "" : " on " + target;
    std::string text;
    switch (verdict.answer) {
    case Verdict::Answer::possible:
        text = target.empty() ? fmt::format("Pools can use {}.\n", verdict.provider)
                              : fmt::format("A pool{} would use {}{}.\n", where, verdict.provider,
                                            verdict.tls ? " with TLS" : "");
        break;
    case Verdict::Answer::impossible:
        text = fmt::format("A pool{} could not be created:\n", where);
        break;
    case Verdict::Answer::unknown:
        text = fmt::format("Whether a pool{} could be created is not known:\n", where);
        break;
    }
    return text + lines("", verdict.problems) + lines("not over ", verdict.why_not) +
           lines("note: ", verdict.notes);
}

} // namespace rpmem::ctl
