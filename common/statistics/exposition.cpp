// SPDX-License-Identifier: BSD-3-Clause
#include "common/statistics/exposition.hpp"

#include "common/base/io.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <span>

namespace rpmem::statistics {
namespace {

// Upper bounds of a histogram's buckets: what databases and disks need, in seconds.
constexpr double bounds[] = {2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2,
                             2e-2, 5e-2, 0.1,  0.2,  0.5,  1,    2,    5,    10,   20,   50,   100};

constexpr double nanoseconds_of_second = 1e9;

std::string escaped(std::string_view value) {
    std::string text;
    for (const char one : value) {
        if (one == '\\' || one == '"')
            text += '\\';
        text += one == '\n' ? ' ' : one;
    }
    return text;
}

// The exporter is another user, as a rule. The mode of the directory decides who may read.
constexpr mode_t mode_when_written = 0644;

Failure cannot(std::string_view step, const std::string& path) {
    return fail_errno(ErrorClass::caller_fault, errno, "cannot {} {}", step, path);
}

} // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
    family_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view value) {
    text_ += family_;
    text_ += suffix;
    char before = '{';
    for (const auto& [name, word] : labels) {
        text_ += fmt::format("{}{}=\"{}\"", before, name, escaped(word));
        before = ',';
    }
    text_ += fmt::format("{} {}\n", labels.empty() ? "" : "}", value);
}

void Exposition::sample(const Labels& labels, std::uint64_t value) {
    line("", labels, fmt::format("{}", value));
}

void Exposition::histogram(const Labels& labels, const Counts& counts, std::uint64_t total_ticks,
                           double nanoseconds_of_tick) {
    const double seconds_of_tick = nanoseconds_of_tick / nanoseconds_of_second;
    std::size_t bucket = 0;
    std::uint64_t calls = 0;
    Labels with_bound = labels;
    with_bound.emplace_back("le", "");
    for (const double bound : bounds) {
        while (bucket < buckets &&
               static_cast<double>(least_of(bucket + 1)) * seconds_of_tick <= bound)
            calls += counts[bucket++];
        with_bound.back().second = fmt::format("{}", bound);
        line("_bucket", with_bound, fmt::format("{}", calls));
    }
    calls = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    with_bound.back().second = "+Inf";
    line("_bucket", with_bound, fmt::format("{}", calls));
    line("_sum", labels, fmt::format("{}", static_cast<double>(total_ticks) * seconds_of_tick));
    line("_count", labels, fmt::format("{}", calls));
}

Result<> replace_file(const std::string& directory, const std::string& name,
                      std::string_view text) {
    constexpr std::chrono::seconds patience(5); // of a write, which nothing waits for
    const std::string path = directory + "/" + name;
    const std::string temporary = directory + "/." + name + ".new";
    static_cast<void>(::unlink(temporary.c_str())); // of a process that was killed
    const UniqueFd file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file)
        return cannot("create", temporary);
    RPMEM_TRY(in_context(
        temporary, write_fully(file.get(), std::as_bytes(std::span(text)), Deadline(patience))));
    if (::fchmod(file.get(), mode_when_written) != 0)
        return cannot("change the mode of", temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return cannot("rename", temporary);
    return {};
}

} // namespace rpmem::statistics
