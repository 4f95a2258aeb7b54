#include "tests/support/recorder/recorder.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

namespace rpmem::test {
namespace {

int open_to_append(const char* file) {
    return file ? ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
}

// write(2) itself may be one of the functions that are recorded.
void write_line(int file, const std::string& line) {
    static_cast<void>(::syscall(SYS_write, file, line.data(), line.size()));
}

} // namespace

Recorder& Recorder::instance() {
    // Threads of the daemon may still call when the program ends.
    static Recorder& recorder = *new Recorder;
    return recorder;
}

Recorder::Recorder() { read_environment(); }

void Recorder::read_environment() {
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

void Recorder::reset() {
    const std::lock_guard lock(mutex_);
    memory_ = nullptr;
    image_.clear();
    events_.clear();
    faults_.clear();
    delay_ = {};
    action_ = {};
}

void Recorder::delay(std::chrono::milliseconds time) {
    const std::lock_guard lock(mutex_);
    delay_ = time;
}

void Recorder::fail(Fault fault) {
    const std::lock_guard lock(mutex_);
    faults_.push_back({std::move(fault)});
}

void Recorder::before_each(std::function<void(const Event&)> action) {
    const std::lock_guard lock(mutex_);
    action_ = std::move(action);
}

void Recorder::watch(const std::byte* begin, std::size_t size) {
    const std::lock_guard lock(mutex_);
    memory_ = begin;
    image_.assign(begin, begin + size);
}

std::vector<std::byte> Recorder::image(std::size_t offset, std::size_t size) const {
    const std::lock_guard lock(mutex_);
    const auto begin = image_.begin() + std::ptrdiff_t(std::min(offset, image_.size()));
    return {begin, begin + std::min(std::ptrdiff_t(size), image_.end() - begin)};
}

bool Recorder::is_durable(std::size_t offset, std::size_t size) const {
    const std::lock_guard lock(mutex_);
    return offset + size <= image_.size() &&
           std::memcmp(image_.data() + offset, memory_ + offset, size) == 0;
}

std::vector<Event> Recorder::events() const {
    const std::lock_guard lock(mutex_);
    return events_;
}

std::size_t Recorder::count(const std::string& call, const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(events_, [&](const Event& event) {
        return event.call == call && event.path.find(path) != std::string::npos;
    }));
}

std::vector<Recorder::Copy> Recorder::copies_of(const void* address, std::size_t size,
                                                std::size_t unit) const {
    const std::lock_guard lock(mutex_);
    const auto base = reinterpret_cast<std::uintptr_t>(memory_);
    const auto first = reinterpret_cast<std::uintptr_t>(address) / unit * unit;
    const auto last = (reinterpret_cast<std::uintptr_t>(address) + size + unit - 1) / unit * unit;
    const auto from = std::max(first, base);
    const auto to = std::min(last, base + image_.size());
    if (memory_ == nullptr || size == 0 || from >= to)
        return {};
    return {{from - base, {memory_ + (from - base), memory_ + (to - base)}}};
}

void Recorder::put(const std::vector<Copy>& copies) {
    const std::lock_guard lock(mutex_);
    for (const Copy& copy : copies)
        if (copy.offset + copy.bytes.size() <= image_.size())
            std::ranges::copy(copy.bytes, image_.begin() + std::ptrdiff_t(copy.offset));
}

Event Recorder::event_of(const char* call, const void* address, std::size_t size) const {
    const std::lock_guard lock(mutex_);
    const auto base = reinterpret_cast<std::uintptr_t>(memory_);
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    const bool watched = memory_ != nullptr && place >= base && place < base + image_.size();
    return {call, "-", watched ? place - base : place, size, 0};
}

int Recorder::begin(const Event& event, bool waits) {
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

void Recorder::end(Event event, int code) {
    event.code = code;
    const std::lock_guard lock(mutex_);
    if (log_ >= 0) {
        const std::string line = event.call + ' ' + event.path + ' ' +
                                 std::to_string(event.offset) + ' ' + std::to_string(event.length) +
                                 ' ' + std::to_string(code) + '\n';
        write_line(log_, line);
        return; // a daemon runs for long
    }
    events_.push_back(std::move(event));
}

} // namespace rpmem::test
