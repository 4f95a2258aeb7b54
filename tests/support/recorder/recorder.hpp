// SPDX-License-Identifier: BSD-3-Clause
// Replaces the functions that make data durable: pmem_persist, pmem_flush, pmem_drain, pmem_memcpy,
// pmem_msync and pmem2_deep_flush of libpmem and libpmem2, and msync, fsync and fdatasync of the C
// library. It also replaces posix_fadvise, pwrite, flock and fsetxattr, because tests check their
// order or need their failure. It records each call, and can delay it or make it fail. A range that
// a daemon forgets to make durable is still in the page cache, so only the recorder reveals the
// mistake.
//
// The recorder has two forms:
//  1. Linked into a test: target_link_libraries(TEST PRIVATE rpmem_recorder). It replaces the calls
//     of everything that is linked into the test. The test uses the class Recorder below.
//  2. In the real daemon: LD_PRELOAD=$<TARGET_FILE:rpmem_recorder_preload>. Environment variables
//     replace the calls of Recorder:
//       RPMEM_RECORDER_LOG=FILE      writes a line to FILE after each call (see Event):
//                                    CALL PATH OFFSET LENGTH CODE
//       RPMEM_RECORDER_BEGINS=FILE   writes a line to FILE before each call that waits for the
//                                    medium: CALL
//       RPMEM_RECORDER_DELAY_MS=N    delays each call that waits for the medium
//       RPMEM_RECORDER_FAULTS=LIST   CALL:PART_OF_PATH:NUMBER:CODE, separated by ';' (see Fault)
//     With AddressSanitizer add ASAN_OPTIONS=verify_asan_link_order=0.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rpmem::test {

struct Event {
    std::string call;         // the name of the function
    std::string path;         // the file or directory; "-" for memory, or if it has no name
    std::uint64_t offset = 0; // in the file or the watched memory; the address of other memory
    std::size_t length = 0;
    int code = 0; // the errno value that the caller got; 0 on success
};

// Makes a call of the function CALL on a path that contains PATH fail with CODE and do nothing.
// NUMBER selects the call, counted from 1, or every call if it is 0. It has no effect on functions
// that cannot fail, such as pmem_persist().
struct Fault {
    std::string call;
    std::string path;
    unsigned number = 1;
    int code = 5; // EIO
};

inline int open_to_append(const char* file) {
    return file ? ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

// Calls the kernel directly, because a test may replace write(2) as well.
inline void write_line(int file, const std::string& line) {
    static_cast<void>(::syscall(SYS_write, file, line.data(), line.size()));
}

class Recorder {
public:
    static Recorder& instance() {
        // Never destroyed, because threads of the daemon may still call it while the program ends.
        static Recorder& recorder = *new Recorder;
        return recorder;
    }

    // Drops all recorded events, faults and delays, the action and the image.
    void reset() {
        const std::lock_guard lock(mutex_);
        memory_ = nullptr;
        image_.clear();
        events_.clear();
        faults_.clear();
        delay_ = {};
        action_ = {};
    }
    // Delays the effect of each call that waits for the medium (drain, persist, msync, fsync,
    // fdatasync, deep flush). So an acknowledgement that does not wait for the call arrives before
    // it.
    void delay(std::chrono::milliseconds time) {
        const std::lock_guard lock(mutex_);
        delay_ = time;
    }
    void fail(Fault fault) {
        const std::lock_guard lock(mutex_);
        faults_.push_back({std::move(fault)});
    }
    // Runs ACTION before each call from now on, in the thread of the caller. The calls of ACTION
    // itself are not recorded.
    void before_each(std::function<void(const Event&)> action) {
        const std::lock_guard lock(mutex_);
        action_ = std::move(action);
    }

    // Keeps an image of this memory from now on, as it would be after a power failure. The image
    // starts with the present contents. A flush copies whole cache lines, and the next drain of the
    // same thread puts the copies into the image. A successful msync(2) or pmem_msync() puts whole
    // pages into it, as they were when it was called.
    void watch(const std::byte* begin, std::size_t size) {
        const std::lock_guard lock(mutex_);
        memory_ = begin;
        image_.assign(begin, begin + size);
    }
    // Returns bytes of the image. They are durable.
    [[nodiscard]] std::vector<std::byte> image(std::size_t offset, std::size_t size) const {
        const std::lock_guard lock(mutex_);
        const auto begin = image_.begin() + std::ptrdiff_t(std::min(offset, image_.size()));
        return {begin, begin + std::min(std::ptrdiff_t(size), image_.end() - begin)};
    }
    // Returns whether the range in the image is equal to that in the memory.
    [[nodiscard]] bool is_durable(std::size_t offset, std::size_t size) const {
        const std::lock_guard lock(mutex_);
        return offset + size <= image_.size() &&
               std::memcmp(image_.data() + offset, memory_ + offset, size) == 0;
    }

    [[nodiscard]] std::vector<Event> events() const {
        const std::lock_guard lock(mutex_);
        return events_;
    }
    [[nodiscard]] std::size_t count(const std::string& call, const std::string& path = "") const {
        const std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(std::ranges::count_if(events_, [&](const Event& event) {
            return event.call == call && event.path.find(path) != std::string::npos;
        }));
    }

    // The following functions are for the replacements in functions.cpp.
    struct Copy {
        std::size_t offset;
        std::vector<std::byte> bytes;
    };
    // Copies the watched memory in [ADDRESS, ADDRESS + SIZE), extended to multiples of UNIT.
    // Returns nothing if the range contains no watched memory.
    [[nodiscard]] std::vector<Copy> copies_of(const void* address, std::size_t size,
                                              std::size_t unit) const {
        const std::lock_guard lock(mutex_);
        const auto base = reinterpret_cast<std::uintptr_t>(memory_);
        const auto first = reinterpret_cast<std::uintptr_t>(address) / unit * unit;
        const auto last =
            (reinterpret_cast<std::uintptr_t>(address) + size + unit - 1) / unit * unit;
        const auto from = std::max(first, base);
        const auto to = std::min(last, base + image_.size());
        if (memory_ == nullptr || size == 0 || from >= to)
            return {};
        return {{from - base, {memory_ + (from - base), memory_ + (to - base)}}};
    }
    void put(const std::vector<Copy>& copies) {
        const std::lock_guard lock(mutex_);
        for (const Copy& copy : copies)
            if (copy.offset + copy.bytes.size() <= image_.size())
                std::ranges::copy(copy.bytes, image_.begin() + std::ptrdiff_t(copy.offset));
    }
    [[nodiscard]] Event event_of(const char* call, const void* address, std::size_t size) const {
        const std::lock_guard lock(mutex_);
        const auto base = reinterpret_cast<std::uintptr_t>(memory_);
        const auto place = reinterpret_cast<std::uintptr_t>(address);
        const bool watched = memory_ != nullptr && place >= base && place < base + image_.size();
        return {call, "-", watched ? place - base : place, size, 0};
    }
    // Call it before the call is made. Runs the action, and applies the delay if WAITS. Returns the
    // errno value with which the call must fail, or 0.
    int begin(const Event& event, bool waits) {
        std::function<void(const Event&)> action;
        std::chrono::milliseconds delay{0};
        int code = 0;
        {
            const std::lock_guard lock(mutex_);
            action = action_;
            delay = delay_;
            for (PlannedFault& planned : faults_) {
                if (planned.fault.call != event.call ||
                    event.path.find(planned.fault.path) == std::string::npos)
                    continue;
                ++planned.seen;
                if (planned.fault.number == 0 || planned.fault.number == planned.seen)
                    code = planned.fault.code;
            }
        }
        if (action)
            action(event);
        if (waits && begins_ >= 0)
            write_line(begins_, event.call + '\n');
        if (waits && delay.count() > 0)
            std::this_thread::sleep_for(delay);
        return code;
    }
    void end(Event event, int code) {
        event.code = code;
        const std::lock_guard lock(mutex_);
        if (log_ >= 0) {
            const std::string line =
                event.call + ' ' + event.path + ' ' + std::to_string(event.offset) + ' ' +
                std::to_string(event.length) + ' ' + std::to_string(code) + '\n';
            write_line(log_, line);
            return; // keeping the events of a daemon would use more and more memory
        }
        events_.push_back(std::move(event));
    }

private:
    Recorder() { read_environment(); }
    void read_environment() {
        log_ = open_to_append(std::getenv("RPMEM_RECORDER_LOG"));
        begins_ = open_to_append(std::getenv("RPMEM_RECORDER_BEGINS"));
        if (const char* const text = std::getenv("RPMEM_RECORDER_DELAY_MS"))
            delay_ = std::chrono::milliseconds(std::strtol(text, nullptr, 10));
        const char* const list = std::getenv("RPMEM_RECORDER_FAULTS");
        std::istringstream faults(list ? list : "");
        for (std::string fault; std::getline(faults, fault, ';');) {
            std::istringstream fields(fault);
            Fault planned;
            std::string number;
            std::string code;
            std::getline(fields, planned.call, ':');
            std::getline(fields, planned.path, ':');
            std::getline(fields, number, ':');
            std::getline(fields, code, ':');
            if (code.empty()) {
                write_line(STDERR_FILENO, "RPMEM_RECORDER_FAULTS: a fault has four fields\n");
                std::abort();
            }
            planned.number = static_cast<unsigned>(std::strtoul(number.c_str(), nullptr, 10));
            planned.code = static_cast<int>(std::strtol(code.c_str(), nullptr, 10));
            faults_.push_back({planned});
        }
    }

    struct PlannedFault {
        Fault fault;
        unsigned seen = 0;
    };

    mutable std::mutex mutex_;
    const std::byte* memory_ = nullptr;
    std::vector<std::byte> image_;
    std::vector<Event> events_;
    std::vector<PlannedFault> faults_;
    std::chrono::milliseconds delay_{0};
    std::function<void(const Event&)> action_;
    int log_ = -1;
    int begins_ = -1;
};

} // namespace rpmem::test
