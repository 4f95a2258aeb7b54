// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/durability/fault_handler.hpp"

#include "common/base/signal_safe.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string_view>
#include <utility>

namespace rpmem::target {
namespace {

using signal_safe::put;

// Timeout for writing to a full pipe. A reader that still runs empties it within this time.
constexpr int timeout_ms = 500;
constexpr std::size_t max_digits = 20;
constexpr std::size_t max_stamp = 128; // size of time, process and level

constexpr int faults[] = {SIGBUS, SIGSEGV};

// The following three functions run in the handler, so they must not allocate or lock.

std::string_view to_text(std::uint64_t number, std::array<char, max_digits>& digits) {
    std::size_t first = digits.size();
    do {
        digits[--first] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return {digits.data() + first, digits.size() - first};
}

// Appends NUMBER with at least DIGITS digits to TEXT, which has reserved enough memory.
void append_number(std::string& text, std::uint64_t number, std::size_t digits) {
    std::array<char, max_digits> buffer{};
    const std::string_view all = to_text(number, buffer);
    text.append(digits > all.size() ? digits - all.size() : 0, '0').append(all);
}

// Appends the beginning of a line of a log file: "2026-01-31 12:00:00.000 [4711] error: ".
// UTC_OFFSET is in seconds.
void append_stamp(std::string& text, long utc_offset) {
    struct timespec now {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::chrono::seconds local(now.tv_sec + utc_offset);
    const auto days = std::chrono::floor<std::chrono::days>(local);
    const std::chrono::year_month_day date{std::chrono::sys_days(days)};
    const std::chrono::hh_mm_ss time(local - days);
    constexpr long nanoseconds_of_millisecond = 1000000;
    const auto append = [&](auto number, std::size_t digits, std::string_view after) {
        append_number(text, static_cast<std::uint64_t>(number), digits);
        text.append(after);
    };
    append(static_cast<int>(date.year()), 4, "-");
    append(static_cast<unsigned>(date.month()), 2, "-");
    append(static_cast<unsigned>(date.day()), 2, " ");
    append(time.hours().count(), 2, ":");
    append(time.minutes().count(), 2, ":");
    append(time.seconds().count(), 2, ".");
    append(now.tv_nsec / nanoseconds_of_millisecond, 3, " [");
    append(::getpid(), 1, "] error: ");
}

// Runs before a fault, because localtime_r(3) takes locks.
long utc_offset_now() {
    const std::time_t now = std::time(nullptr);
    std::tm fields{};
    return ::localtime_r(&now, &fields) != nullptr ? fields.tm_gmtoff : 0;
}

} // namespace

const char* describe(FaultCause cause) {
    switch (cause) {
    case FaultCause::truncated:
        return "it was truncated";
    case FaultCause::no_space:
        return "it has a hole there, and its file system or a quota is full";
    case FaultCause::bad_block:
        break;
    }
    return "its medium has a bad block, or its file system failed";
}

int errno_of(FaultCause cause) { return cause == FaultCause::no_space ? ENOSPC : EIO; }

// The texts for a fault in a part, prepared because the handler cannot allocate.
struct FaultGuard::Record {
    struct Cause {
        std::string after;                      // the text after the offset
        mutable std::vector<std::byte> message; // the handler writes the offset into it
    };
    PartInMemory part;
    std::string before; // the text before the offset
    std::array<Cause, all_fault_causes.size()> causes;
    mutable std::string text; // has reserved memory for the whole line
};

struct FaultGuard::Records {
    std::vector<Record> parts;
    FaultChannels channels;
    long utc_offset = utc_offset_now();
    long page_size = ::sysconf(_SC_PAGESIZE);
    std::array<struct sigaction, std::size(faults)> previous{};
};

namespace {

// Returns whether a block of the page at OFFSET is a hole. lseek(2) also reports a hole for blocks
// that are allocated and were never written. So the file must also have fewer blocks than its size
// needs.
bool has_hole(int fd, const struct stat& status, std::uint64_t offset, long page_size) {
    constexpr std::uint64_t block = 512; // unit of st_blocks, see stat(3type)
    if (static_cast<std::uint64_t>(status.st_blocks) * block >=
        static_cast<std::uint64_t>(status.st_size))
        return false;
    const auto page = static_cast<off_t>(offset) / page_size * page_size;
    const off_t hole = ::lseek(fd, page, SEEK_HOLE);
    return hole < std::min<off_t>(page + page_size, status.st_size);
}

// A fault in a page without holes can only be caused by the medium. A fault in a hole is attributed
// to a full file system.
FaultCause cause_of(const PartInMemory& part, std::uint64_t offset, long page_size) {
    struct stat status {};
    if (part.fd < 0 || ::fstat(part.fd, &status) != 0 || !S_ISREG(status.st_mode))
        return FaultCause::bad_block;
    if (offset >= static_cast<std::uint64_t>(status.st_size))
        return FaultCause::truncated;
    return has_hole(part.fd, status, offset, page_size) ? FaultCause::no_space
                                                        : FaultCause::bad_block;
}

// Writes the message with one call, because the thread of the heartbeats writes there, too.
void put_message(const FaultChannels& channels, std::span<std::byte> message,
                 std::uint64_t offset) {
    if (message.size() < channels.place_of_offset + sizeof(offset))
        return;
    for (std::byte& byte : message.subspan(channels.place_of_offset, sizeof(offset))) {
        byte = static_cast<std::byte>(offset >> 56);
        offset <<= 8;
    }
    put(channels.output, {reinterpret_cast<const char*>(message.data()), message.size()},
        timeout_ms);
}

std::atomic<void*> active = nullptr; // FaultGuard::Records
std::atomic<bool> is_ending = false;

} // namespace

FaultGuard::FaultGuard(std::vector<PartInMemory> parts, FaultChannels channels)
    : records_(std::make_unique<Records>()) {
    records_->channels = std::move(channels);
    for (PartInMemory& part : parts) {
        Record record{std::move(part), {}, {}, {}};
        std::size_t max_after = 0;
        for (const FaultCause cause : all_fault_causes) {
            Record::Cause& known = record.causes[static_cast<std::size_t>(cause)];
            known.after = fmt::format(": {}; restore the pool from a replica\n", describe(cause));
            if (records_->channels.message)
                known.message = records_->channels.message(record.part, cause);
            max_after = std::max(max_after, known.after.size());
        }
        record.before =
            fmt::format("rpmemd: the session ends: part {} cannot be read or written at offset ",
                        record.part.path);
        record.text.reserve(max_stamp + records_->channels.log_prefix.size() +
                            record.before.size() + max_digits + max_after);
        records_->parts.push_back(std::move(record));
    }
    active = records_.get();
    struct sigaction action {};
    action.sa_sigaction = [](int number, siginfo_t* information, void* context) {
        handle(number, information, context);
    };
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(faults); ++i)
        ::sigaction(faults[i], &action, &records_->previous[i]);
}

FaultGuard::~FaultGuard() {
    for (std::size_t i = 0; i < std::size(faults); ++i)
        ::sigaction(faults[i], &records_->previous[i], nullptr);
    active = nullptr;
}

void FaultGuard::handle(int number, void* information, void*) {
    const auto& what = *static_cast<const siginfo_t*>(information);
    const auto place = reinterpret_cast<std::uintptr_t>(what.si_addr);
    const auto* const records = static_cast<const Records*>(active.load());
    const bool is_fault = what.si_code > 0; // otherwise kill(2) or the like sent the signal
    if (records != nullptr && is_fault)
        for (const Record& record : records->parts) {
            const auto begin = reinterpret_cast<std::uintptr_t>(record.part.begin);
            if (place >= begin && place - begin < record.part.size)
                end_process(*records, record, record.part.offset + (place - begin));
        }
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
    if (!is_fault)
        static_cast<void>(::raise(number)); // after a fault the instruction fails again
}

void FaultGuard::end_process(const Records& records, const Record& record, std::uint64_t offset) {
    while (is_ending.exchange(true))
        ::pause(); // another thread is ending the process
    std::array<char, max_digits> digits{};
    const std::string_view number = to_text(offset, digits);
    // The constructor has reserved the memory, so nothing is allocated.
    std::string& text = record.text;
    text.append(records.channels.log_prefix);
    if (text.empty()) // no prefix: the log is a file, and its lines need the time
        append_stamp(text, records.utc_offset);
    const std::size_t prefix = text.size();
    const Record::Cause& cause =
        record.causes[static_cast<std::size_t>(cause_of(record.part, offset, records.page_size))];
    text.append(record.before).append(number).append(cause.after);
    put(records.channels.error, std::string_view(text).substr(prefix), timeout_ms);
    put_message(records.channels, cause.message, offset);
    put(records.channels.log.get(), text, timeout_ms);
    ::_exit(EXIT_FAILURE);
}

} // namespace rpmem::target
