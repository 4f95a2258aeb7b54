// SPDX-License-Identifier: BSD-3-Clause
// The calls of the program, and the checks: each error has an errno and a text, promised bytes are
// in the parts, and no daemon, lock, thread or descriptor is left.
#include "tests/faults/application.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace rpmem::faults {
namespace {

namespace fs = std::filesystem;

constexpr const char* target = "127.0.0.1";
constexpr unsigned lanes = 2;
// The time in which a daemon must end after its client, on a busy machine.
constexpr std::chrono::seconds ending_time(30);
constexpr std::chrono::milliseconds tick(2);

// Waits for CONDITION. Returns false after ending_time.
template <typename Condition>
bool holds_in_time(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + ending_time;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until)
            return false;
        std::this_thread::sleep_for(tick);
    }
    return true;
}

rpmem_pool_attr attributes_with(std::uint32_t major) {
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "COUNTED1", sizeof(attributes.signature));
    attributes.major = major;
    attributes.incompat_features = 2;
    for (auto* field :
         {&attributes.poolset_uuid, &attributes.uuid, &attributes.next_uuid, &attributes.prev_uuid})
        std::memset(*field, 0x11, sizeof(*field));
    return attributes;
}

std::vector<std::string> lines_of(const fs::path& file) {
    std::vector<std::string> lines;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

// Returns whether PROCESS has ended. It may still be a zombie.
bool has_ended(const std::string& process) {
    const auto stat = lines_of("/proc/" + process + "/stat");
    return stat.empty() || stat[0].find(") Z ") != std::string::npos;
}

bool is_locked(const fs::path& file) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    const bool locked = fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0;
    ::close(fd);
    return locked;
}

std::set<std::string> names_in(const char* directory) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory))
        names.insert(entry.path().filename());
    return names;
}

} // namespace

Application::Application(const Place& place, std::uint64_t seed)
    : place_(place), buffer_(part_size), next_major_(static_cast<std::uint32_t>(1000 + 10 * seed)),
      descriptors_(names_in("/proc/self/fd")) {
    void* const memory =
        ::mmap(nullptr, pool_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        std::abort();
    memory_ = static_cast<std::byte*>(memory);
    for (std::size_t at = 0; at < pool_size; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = (at + seed) * 0x9e3779b97f4a7c15U + seed;
        std::memcpy(memory_ + at, &word, sizeof(word));
    }
}

Application::~Application() { ::munmap(memory_, pool_size); }

void Application::find(const std::string& what) const {
    std::ofstream(place_.findings(), std::ios::app) << what << '\n';
    tell("FINDING: " + what);
}

void Application::tell(const std::string& what) const {
    std::ofstream(place_.story(), std::ios::app) << what << '\n';
}

// Each failure must set errno and an error text.
template <typename Call>
bool Application::call(const char* name, Call call) {
    char* const text = const_cast<char*>(rpmem_errormsg()); // of this thread, and no constant
    *text = '\0';
    errno = 0;
    const bool counts = counts_ && place_.calls->side == Side::client;
    if (counts)
        place_.calls->counts = true;
    const bool done = call();
    const int code = errno;
    if (counts)
        place_.calls->counts = false;
    if (done)
        return true;
    tell(std::string(name) + ": " + std::to_string(code) + ": " + text);
    if (code == 0)
        find(std::string(name) + " has failed without an errno: " + text);
    if (*text == '\0')
        find(std::string(name) + " has failed without a text");
    return false;
}

void Application::promise_flushed(unsigned lane) {
    std::erase_if(flushed_, [&](const Range& range) {
        if (range.lane == lane)
            promised_.push_back(range);
        return range.lane == lane;
    });
}

bool Application::create() {
    const auto attributes = attributes_with(next_major_);
    const bool done = call("rpmem_create", [&] {
        unsigned count = lanes;
        pool_ = rpmem_create(target, pool_set, memory_, pool_size, &count, &attributes);
        return pool_ != nullptr;
    });
    majors_ = {next_major_++};
    return done;
}

bool Application::open() {
    rpmem_pool_attr seen{};
    const bool done = call("rpmem_open", [&] {
        unsigned count = lanes;
        pool_ = rpmem_open(target, pool_set, memory_, pool_size, &count, &seen);
        return pool_ != nullptr;
    });
    if (!done)
        return false;
    if (!majors_.empty() && std::ranges::find(majors_, seen.major) == majors_.end())
        find("the pool has attributes that nobody has set: " + std::to_string(seen.major));
    majors_ = {seen.major};
    return true;
}

bool Application::persist(std::size_t offset, std::size_t length, unsigned lane) {
    const bool done =
        call("rpmem_persist", [&] { return rpmem_persist(pool_, offset, length, lane, 0) == 0; });
    if (!done)
        return false;
    promised_.push_back({offset, length, lane});
    promise_flushed(lane);
    return true;
}

bool Application::deep_persist(std::size_t offset, std::size_t length, unsigned lane) {
    const bool done = call("rpmem_deep_persist",
                           [&] { return rpmem_deep_persist(pool_, offset, length, lane) == 0; });
    if (done)
        promised_.push_back({offset, length, lane});
    return done;
}

bool Application::flush(std::size_t offset, std::size_t length, unsigned lane) {
    const bool done =
        call("rpmem_flush", [&] { return rpmem_flush(pool_, offset, length, lane, 0) == 0; });
    if (done)
        flushed_.push_back({offset, length, lane});
    return done;
}

bool Application::drain(unsigned lane) {
    const bool done = call("rpmem_drain", [&] { return rpmem_drain(pool_, lane, 0) == 0; });
    if (done)
        promise_flushed(lane);
    return done;
}

bool Application::read(std::size_t offset, std::size_t length, unsigned lane) {
    const bool done = call(
        "rpmem_read", [&] { return rpmem_read(pool_, buffer_.data(), offset, length, lane) == 0; });
    const bool was_promised = std::ranges::any_of(promised_, [&](const Range& range) {
        return range.offset == offset && range.length == length;
    });
    if (done && was_promised && std::memcmp(buffer_.data(), memory_ + offset, length) != 0)
        find("rpmem_read has read something else");
    return done;
}

bool Application::set_attributes() {
    const auto attributes = attributes_with(next_major_);
    const bool done =
        call("rpmem_set_attr", [&] { return rpmem_set_attr(pool_, &attributes) == 0; });
    if (done)
        majors_.clear();
    majors_.push_back(next_major_++);
    return done;
}

bool Application::close() {
    if (!pool_)
        return false;
    const bool done = call("rpmem_close", [&] { return rpmem_close(pool_) == 0; });
    pool_ = nullptr;
    for (unsigned lane = 0; lane < lanes && done; ++lane)
        promise_flushed(lane);
    flushed_.clear();
    return done;
}

bool Application::remove(int flags) {
    promised_.clear();
    majors_.clear();
    return call("rpmem_remove", [&] { return rpmem_remove(target, pool_set, flags) == 0; });
}

void Application::sleep() {
    static_cast<void>(call("sleep", [] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1300));
        return true;
    }));
}

void Application::count() {
    counts_ = true;
    if (place_.calls->side == Side::daemon)
        place_.calls->counts = true;
}

void Application::stop_counting() {
    counts_ = false;
    place_.calls->counts = false;
}

void Application::kill_daemon() const {
    const auto daemons = lines_of(place_.daemons());
    if (!daemons.empty())
        ::kill(std::stoi(daemons.back()), SIGKILL);
}

void Application::expect_daemons_gone() const {
    for (const std::string& daemon : lines_of(place_.daemons()))
        if (!holds_in_time([&] { return has_ended(daemon); }))
            find("the daemon " + daemon + " does not end");
    for (unsigned part = 0; part < parts; ++part)
        if (!holds_in_time([&] { return !is_locked(place_.part(part)); }))
            find(place_.part(part).string() + " is still locked");
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(place_.state(), none))
        if (!holds_in_time([&] { return !is_locked(entry.path()); }))
            find(entry.path().string() + " is still locked");
}

void Application::expect_promises_kept() const {
    std::vector<std::byte> pool(pool_size);
    std::size_t offset = 0;
    for (unsigned part = 0; part < parts; ++part) {
        const std::size_t begin = part == 0 ? 0 : header_size;
        const std::size_t size = std::min(part_size - begin, pool_size - offset);
        std::ifstream file(place_.part(part), std::ios::binary);
        file.seekg(static_cast<std::streamoff>(begin));
        file.read(reinterpret_cast<char*>(pool.data() + offset),
                  static_cast<std::streamsize>(size));
        offset += size;
    }
    for (const Range& range : promised_)
        if (std::memcmp(pool.data() + range.offset, memory_ + range.offset, range.length) != 0)
            find("what was promised is not in the parts: " + std::to_string(range.length) +
                 " bytes at " + std::to_string(range.offset));
}

void Application::expect_nothing_open() const {
    if (!holds_in_time([] { return names_in("/proc/self/task").size() == 1; }))
        find("a thread is left");
    for (const std::string& name : names_in("/proc/self/fd")) {
        std::error_code closed; // set for the descriptor of the directory itself
        const fs::path file = fs::read_symlink("/proc/self/fd/" + name, closed);
        if (!closed && !descriptors_.contains(name))
            find("a descriptor is left: " + file.string());
    }
}

} // namespace rpmem::faults
