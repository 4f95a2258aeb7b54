#include "tools/bench/compare.hpp"

#include "tools/bench/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace rpmem::bench {
namespace {

using Json = nlohmann::ordered_json;

Result<Json> read_rows(const std::string& path) {
    std::ifstream file(path);
    Json report = Json::parse(file, nullptr, false);
    if (!report.is_object() || !report.contains("rows") || !report["rows"].is_array())
        return fail(ErrorClass::caller_fault, EINVAL, "{} is no report of rpmem-bench --json",
                    path);
    return report["rows"];
}

double number(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

bool is_same(const Json& a, const Json& b) {
    for (const char* name : {"case", "variant", "bytes", "lanes"})
        if (a.value(name, Json()) != b.value(name, Json()))
            return false;
    return true;
}

bool is_transfer(const Json& row) {
    const std::string name = row.value("case", "");
    return name == "push" || name == "pull";
}

std::string value_of(const Json& row) {
    const std::string name = row.value("case", "");
    if (name == "idle")
        return fmt::format("{:.1f} + {:.1f} ms", number(row, "own_cpu_ms"),
                           number(row, "target_cpu_ms"));
    const Json ours = row.value("ours", Json::object());
    if (is_transfer(row))
        return fmt::format("{:.2f} GB/s", number(ours, "gigabytes_per_second"));
    const double median = number(ours, "median_us");
    const double best = number(ours, "best_round_us");
    if (median >= 1e4)
        return fmt::format("{:.0f} ({:.0f}) ms", median / 1e3, best / 1e3);
    std::string text = fmt::format("{:.1f} ({:.1f}) µs", median, best);
    if (number(row, "lanes") > 1 && row.contains("limits"))
        text += fmt::format(", {:.1f} k/s", number(ours, "operations_per_second") / 1e3);
    return text;
}

// Name, value and quotients of the limit that says most.
std::string limit_of(const Json& row) {
    for (const char* name :
         {"tcp_spinning", "tcp_sleeping", "tcp_stream", "one_replica", "alone", "login"}) {
        const Json limits = row.value("limits", Json::object());
        const auto limit = limits.find(name);
        if (limit == limits.end())
            continue;
        const double median = number(*limit, "median_us");
        const std::string value =
            is_transfer(row) ? fmt::format("{:.2f} GB/s", number(*limit, "gigabytes_per_second"))
            : median >= 1e4  ? fmt::format("{:.0f} ms", median / 1e3)
                             : fmt::format("{:.1f} µs", median);
        return fmt::format("{} {} | {:.2f} ({:.2f})", name, value, number(*limit, "share"),
                           number(*limit, "best_share"));
    }
    return " | ";
}

} // namespace

Result<> compare(const std::string& first, const std::string& second) {
    RPMEM_ASSIGN(const Json old_rows, read_rows(first));
    RPMEM_ASSIGN(const Json new_rows, read_rows(second));
    fmt::print("| case | size | lanes | first | second | limit | second / limit (best rounds) |\n"
               "|---|---|---|---|---|---|---|\n");
    for (const Json& row : new_rows) {
        for (const Json& old_row : old_rows) {
            if (!is_same(row, old_row) || row.value("case", "") == "limits")
                continue;
            fmt::print("| {} {} | {} | {} | {} | {} | {} |\n", row.value("case", ""),
                       row.value("variant", ""), size_text(row.value("bytes", std::uint64_t{0})),
                       row.value("lanes", 0U), value_of(old_row), value_of(row), limit_of(row));
            break;
        }
    }
    return {};
}

} // namespace rpmem::bench
