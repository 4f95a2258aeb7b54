#include "tests/integration/environment.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace rpmem::test {

namespace fs = std::filesystem;

LocalPool::LocalPool(std::size_t size) : size_(size) {
    void* const memory =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        std::abort();
    data_ = static_cast<std::byte*>(memory);
    fill(1);
}

LocalPool::~LocalPool() { ::munmap(data_, size_); }

void LocalPool::fill(std::uint64_t seed) {
    // A multiplicative generator: every aligned word differs from its neighbours.
    std::uint64_t value = seed * 0x9e3779b97f4a7c15U + 1;
    for (std::size_t at = 0; at + sizeof(value) <= size_; at += sizeof(value)) {
        value = value * 6364136223846793005U + 1442695040888963407U;
        std::memcpy(data_ + at, &value, sizeof(value));
    }
}

std::set<std::string> open_descriptors() {
    std::set<std::string> seen;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
        seen.insert(entry.path().filename());
    return seen;
}

namespace {

// Whether the thread of this directory is in STATE. See proc_pid_stat(5).
bool is_in_state(const fs::path& task, char state) {
    std::ifstream stat(task / "stat");
    const std::string text(std::istreambuf_iterator<char>(stat), {});
    return text.find(std::string(") ") + state + ' ') != std::string::npos;
}

} // namespace

bool falls_asleep(pid_t thread) {
    const fs::path task = "/proc/self/task/" + std::to_string(thread);
    for (int attempt = 0; attempt < 10000; ++attempt) {
        if (thread > 0 && is_in_state(task, 'S'))
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

std::vector<std::byte> bytes_of(const fs::path& file) {
    std::error_code none;
    std::vector<std::byte> bytes(fs::exists(file, none) ? fs::file_size(file) : 0);
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
}

rpmem_pool_attr sample_attributes() {
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "SAMPLE_1", sizeof(attributes.signature));
    attributes.major = 1;
    attributes.incompat_features = 2;
    std::memset(attributes.poolset_uuid, 0x10, sizeof(attributes.poolset_uuid));
    std::memset(attributes.uuid, 0x20, sizeof(attributes.uuid));
    std::memset(attributes.next_uuid, 0x30, sizeof(attributes.next_uuid));
    std::memset(attributes.prev_uuid, 0x40, sizeof(attributes.prev_uuid));
    std::memset(attributes.user_flags, 0x50, sizeof(attributes.user_flags));
    return attributes;
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    if (!value)
        ADD_FAILURE() << name << " is not set: run this through tests/integration/run_tests.sh";
    return value ? value : "";
}

// Then the target has to allow it.
static bool uses_sockets() {
    const char* const wish = std::getenv("RPMEM_ENABLE_SOCKETS");
    return wish && std::string(wish) == "1";
}

TargetTest::TargetTest() {
    directory_ = fs::path(variable("RPMEM_TEST_DIR")) /
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(directory_);
    set_daemon("");
}

TargetTest::~TargetTest() {
    EXPECT_TRUE(denials_are_expected_ ||
                daemon_log().find("confinement: denied") == std::string::npos)
        << "the daemon needs a system call that a confined session has not";
    if (HasFailure())
        ADD_FAILURE() << "the daemon's log:\n" << daemon_log();
    fs::remove_all(directory_);
}

void TargetTest::write_pool_set(const std::string& name, const std::string& text) const {
    std::ofstream file(directory_ / name);
    file << "PMEMPOOLSET\n";
    for (const char c : text) {
        if (c == '%')
            file << directory_.string();
        else
            file << c;
    }
    file << '\n';
}

void TargetTest::write_simple_pool_set(unsigned mebibytes) const {
    write_pool_set("pool.set", std::to_string(mebibytes) + "M %/part0");
}

void TargetTest::set_command(const std::string& shell_script) const {
    const fs::path file = variable("RPMEM_TEST_COMMAND_FILE");
    std::ofstream(file) << "#!/bin/sh\n" << shell_script << '\n';
    fs::permissions(file, fs::perms::owner_all);
}

void TargetTest::set_daemon(const std::string& options, const std::string& variables) const {
    set_command("echo $$ >" + (directory_ / "pid").string() + "; " + variables + " exec " +
                variable("RPMEM_TEST_DAEMON") + " --poolset-dir " + directory_.string() +
                " --log-file " + (directory_ / "log").string() + " --log-level debug " +
                (uses_sockets() ? "--sockets " : "") + options + " \"$@\"");
}

std::vector<std::byte> TargetTest::part(unsigned number) const {
    // Tests look at its bytes: one that is missing ends the test, and not the process.
    const fs::path path = directory_ / ("part" + std::to_string(number));
    if (!fs::exists(path))
        throw std::runtime_error(path.string() + " is missing");
    return bytes_of(path);
}

std::string TargetTest::daemon_log() const {
    std::ostringstream text;
    text << std::ifstream(directory_ / "log").rdbuf();
    return text.str();
}

bool TargetTest::part_gets_unlocked(unsigned number) const {
    const std::string path = directory_ / ("part" + std::to_string(number));
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool locked = false;
    for (int i = 0; i < 100 && !locked; ++i) {
        locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (!locked)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ::close(fd);
    return locked;
}

pid_t TargetTest::daemon_process() const {
    pid_t pid = 0;
    std::ifstream(directory_ / "pid") >> pid;
    return pid;
}

unsigned TargetTest::threads_of_daemon() const {
    const fs::directory_iterator tasks("/proc/" + std::to_string(daemon_process()) + "/task");
    return static_cast<unsigned>(std::distance(begin(tasks), end(tasks)));
}

void TargetTest::stop_daemon() const {
    ASSERT_EQ(::kill(daemon_process(), SIGSTOP), 0);
    // Its threads go on for a while after that.
    const fs::directory_iterator tasks("/proc/" + std::to_string(daemon_process()) + "/task");
    for (const auto& task : tasks)
        for (int attempt = 0; !is_in_state(task, 'T'); ++attempt) {
            ASSERT_LT(attempt, 1000) << "a thread of the daemon does not stop";
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
}

RPMEMpool* TargetTest::create(LocalPool& pool, unsigned lanes, const char* pool_set) {
    const rpmem_pool_attr attributes = sample_attributes();
    lanes_in_force = lanes;
    return rpmem_create(target.c_str(), pool_set, pool.data(), pool.size(), &lanes_in_force,
                        &attributes);
}

RPMEMpool* TargetTest::open(LocalPool& pool, unsigned lanes, const char* pool_set) {
    lanes_in_force = lanes;
    return rpmem_open(target.c_str(), pool_set, pool.data(), pool.size(), &lanes_in_force, nullptr);
}

} // namespace rpmem::test
