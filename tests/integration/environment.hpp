// SPDX-License-Identifier: BSD-3-Clause
// Fixtures of the integration tests: a target on this machine, reached through a private sshd, with
// pools in files of each test. See tests/support/with-sshd and run_tests.sh.
#pragma once

#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <librpmem.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <set>

namespace rpmem::test {

namespace fs = std::filesystem;

constexpr std::size_t mebibyte = 1024 * 1024;
constexpr std::size_t header_size = 4096;

// Page-aligned memory that is filled with a pattern. It is anonymous, or that of FILE.
class LocalPool {
public:
    explicit LocalPool(std::size_t size, const fs::path& file = {}) : size_(size) {
        const int fd = file.empty() ? -1 : ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        const bool is_short = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(size)) != 0;
        void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                    file.empty() ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
        if (fd >= 0)
            ::close(fd);
        if (memory == MAP_FAILED || is_short)
            std::abort();
        data_ = static_cast<std::byte*>(memory);
        fill(1);
    }
    ~LocalPool() { ::munmap(data_, size_); }
    LocalPool(const LocalPool&) = delete;
    LocalPool& operator=(const LocalPool&) = delete;

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    void fill(std::uint64_t seed) {
        // A multiplicative generator: every aligned word differs from its neighbours.
        std::uint64_t value = seed * 0x9e3779b97f4a7c15U + 1;
        for (std::size_t at = 0; at + sizeof(value) <= size_; at += sizeof(value)) {
            value = value * 6364136223846793005U + 1442695040888963407U;
            std::memcpy(data_ + at, &value, sizeof(value));
        }
    }

private:
    std::byte* data_;
    std::size_t size_;
};

// Returns the numbers of the open descriptors of this process.
inline std::set<std::string> open_descriptors() {
    std::set<std::string> seen;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd"))
        seen.insert(entry.path().filename());
    return seen;
}

// TASK is a directory of a thread in /proc. For STATE, see proc(5).
inline bool is_in_state(const fs::path& task, char state) {
    return contains(read_file(task / "stat"), std::string(") ") + state + ' ');
}

// Waits until THREAD of this process sleeps in a system call. Returns false if it does not within
// about 10 s.
inline bool falls_asleep(pid_t thread) {
    const fs::path task = "/proc/self/task/" + std::to_string(thread);
    for (int attempt = 0; attempt < 10000; ++attempt) {
        if (thread > 0 && is_in_state(task, 'S'))
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

// Runs OPERATE in another thread.
class Waiter {
public:
    explicit Waiter(const std::function<void()>& operate)
        : thread_([this, operate] {
              id_ = ::gettid();
              operate();
          }) {}
    ~Waiter() { thread_.join(); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    // Expects the thread to sleep. Call it before the event that OPERATE waits for.
    void expect_asleep() {
        for (int attempt = 0; id_ == 0 && attempt < 10000; ++attempt)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_TRUE(falls_asleep(id_)) << "nobody waits";
    }

private:
    std::atomic<pid_t> id_ = 0;
    std::thread thread_;
};

inline std::vector<std::byte> bytes_of(const fs::path& file) {
    return bytes_of_text(read_file(file));
}

inline rpmem_pool_attr sample_attributes() {
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

// Results of calls of the API. failed() expects CODE in errno, and WORDS in the error text.
inline testing::AssertionResult succeeded(int status) {
    if (status == 0)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << rpmem_errormsg() << " [" << errno << "]";
}

inline testing::AssertionResult failed(int status, int code, std::string_view words = {}) {
    const int seen = errno;
    if (status != -1)
        return testing::AssertionFailure() << "no error";
    if (seen != code)
        return testing::AssertionFailure()
               << rpmem_errormsg() << " [" << seen << "], expected " << code;
    return contains(rpmem_errormsg(), words);
}

inline testing::AssertionResult failed(const RPMEMpool* pool, int code,
                                       std::string_view words = {}) {
    return failed(pool ? 0 : -1, code, words);
}

// Returns the environment variable NAME, never null. Fails the test if it is not set.
inline const char* variable(const char* name) {
    const char* value = std::getenv(name);
    if (!value)
        ADD_FAILURE() << name << " is not set: run this through tests/integration/run_tests.sh";
    return value ? value : "";
}

// Returns whether the environment variable NAME is 1.
inline bool is_on(const char* name) {
    const char* const wish = std::getenv(name);
    return wish && std::string(wish) == "1";
}

// Returns POOL. Throws the error text if it is null, which fails the test.
inline RPMEMpool* sound(RPMEMpool* pool) {
    return pool ? pool : throw std::runtime_error(rpmem_errormsg());
}

class TargetTest : public ::testing::Test {
protected:
    TargetTest() {
        directory_ = fs::path(variable("RPMEM_TEST_DIR")) /
                     ::testing::UnitTest::GetInstance()->current_test_info()->name();
        fs::create_directories(directory_);
        set_daemon("");
    }
    ~TargetTest() override {
        EXPECT_TRUE(denials_are_expected_ ||
                    daemon_log().find("confinement: denied") == std::string::npos)
            << "the daemon needs a system call that a confined session has not";
        if (HasFailure())
            ADD_FAILURE() << "the daemon's log:\n" << daemon_log();
        fs::remove_all(directory_);
    }

    // TEXT is the body of the pool set file NAME; "%" in it stands for directory().
    void write_pool_set(const std::string& name, const std::string& text) const {
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
    // Writes pool.set with one part of this size, part0, that has a header.
    void write_simple_pool_set(unsigned mebibytes) const {
        write_pool_set("pool.set", std::to_string(mebibytes) + "M %/part0");
    }
    // The next sessions run SHELL_SCRIPT on the target instead of the daemon.
    void set_command(const std::string& shell_script) const {
        const fs::path file = variable("RPMEM_TEST_COMMAND_FILE");
        std::ofstream(file) << "#!/bin/sh\n" << shell_script << '\n';
        fs::permissions(file, fs::perms::owner_all);
    }
    // The next sessions run the daemon with OPTIONS. VARIABLES are assignments of the shell.
    void set_daemon(const std::string& options, const std::string& variables = "") const {
        set_command("echo $$ >" + (directory_ / "pid").string() + "; " + variables + " exec " +
                    variable("RPMEM_TEST_DAEMON") + " --poolset-dir " + directory_.string() +
                    " --state-dir " + (directory_ / "state").string() + " --log-file " +
                    (directory_ / "log").string() + " --log-level debug " +
                    (is_on("RPMEM_ENABLE_SOCKETS") ? "--sockets " : "") + options + " \"$@\"");
    }

    // The next sessions run a script that never answers. daemon_process() returns its process. The
    // script checks once a second whether the tests still run, because nothing else would end it.
    void set_mute_target() const {
        set_command("echo $$ >" + (directory_ / "pid").string() + "; while kill -0 " +
                    std::to_string(::getpid()) + " 2>/dev/null; do sleep 1; done");
    }

    [[nodiscard]] const fs::path& directory() const { return directory_; }
    [[nodiscard]] std::vector<std::byte> part(unsigned number) const {
        // An exception ends only the test. An access to bytes that are missing would end the
        // process.
        const fs::path path = directory_ / ("part" + std::to_string(number));
        if (!fs::exists(path))
            throw std::runtime_error(path.string() + " is missing");
        return bytes_of(path);
    }
    [[nodiscard]] std::string daemon_log() const { return read_file(directory_ / "log"); }
    // Returns the log of the library in this process.
    [[nodiscard]] static std::string library_log() {
        return read_file(std::string(variable("RPMEM_LOG_FILE")) + std::to_string(::getpid()));
    }
    // Returns the process of the last session since set_daemon() or set_mute_target().
    [[nodiscard]] pid_t daemon_process() const {
        pid_t pid = 0;
        std::ifstream(directory_ / "pid") >> pid;
        return pid;
    }
    // Returns the process of sshd that serves the last session.
    [[nodiscard]] pid_t sshd_of_daemon() const {
        pid_t pid = daemon_process();
        for (std::string name; !name.starts_with("sshd") && pid > 1;) {
            std::ifstream status("/proc/" + std::to_string(pid) + "/status");
            for (std::string word; status >> word && word != "PPid:";)
                ;
            if (!(status >> pid))
                break;
            std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
        }
        // A signal to process 0 would end the tests.
        return pid > 1 ? pid : throw std::runtime_error("the daemon has no sshd");
    }
    [[nodiscard]] unsigned threads_of_daemon() const {
        const fs::directory_iterator tasks("/proc/" + std::to_string(daemon_process()) + "/task");
        return static_cast<unsigned>(std::distance(begin(tasks), end(tasks)));
    }
    // Sends SIGSTOP to the daemon, and returns when all its threads have stopped.
    void stop_daemon() const {
        ASSERT_EQ(::kill(daemon_process(), SIGSTOP), 0);
        // Threads may still run for a while after kill(2) has returned.
        const fs::directory_iterator tasks("/proc/" + std::to_string(daemon_process()) + "/task");
        for (const auto& task : tasks)
            for (int attempt = 0; !is_in_state(task, 'T'); ++attempt) {
                ASSERT_LT(attempt, 1000) << "a thread of the daemon does not stop";
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
    }
    // Waits up to 5 s until no process holds the lock of the part. Then the daemon has ended or is
    // about to.
    [[nodiscard]] bool part_gets_unlocked(unsigned number) const {
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

    // Without this call, a denied system call in the daemon's log fails the test.
    void denials_are_expected() { denials_are_expected_ = true; }

    RPMEMpool* create(LocalPool& pool, unsigned lanes, const char* pool_set = "pool.set",
                      const std::optional<rpmem_pool_attr>& attributes = sample_attributes()) {
        lanes_in_force = lanes;
        return rpmem_create(target.c_str(), pool_set, pool.data(), pool.size(), &lanes_in_force,
                            attributes ? &*attributes : nullptr);
    }
    RPMEMpool* open(LocalPool& pool, unsigned lanes, const char* pool_set = "pool.set",
                    rpmem_pool_attr* seen = nullptr) {
        lanes_in_force = lanes;
        return rpmem_open(target.c_str(), pool_set, pool.data(), pool.size(), &lanes_in_force,
                          seen);
    }
    int remove(const char* pool_set = "pool.set", int flags = 0) const {
        return rpmem_remove(target.c_str(), pool_set, flags);
    }
    unsigned lanes_in_force = 0;

    std::string target = variable("RPMEM_TEST_TARGET");

private:
    fs::path directory_;
    bool denials_are_expected_ = false;
};

// A test with a pool set of one part, and local memory of the same size.
class PoolTest : public TargetTest {
protected:
    enum class Memory { anonymous, of_a_file };
    explicit PoolTest(unsigned mebibytes = 8, Memory memory = Memory::anonymous)
        : local(mebibytes * mebibyte,
                memory == Memory::of_a_file ? directory() / "local" : fs::path()) {
        write_simple_pool_set(mebibytes);
    }
    // Creates a pool. The test ends if that fails.
    RPMEMpool* created(unsigned lanes = 1) { return sound(create(local, lanes)); }
    RPMEMpool* opened(unsigned lanes = 1, rpmem_pool_attr* seen = nullptr) {
        return sound(open(local, lanes, "pool.set", seen));
    }
    // Expects the local bytes of this range in the first part.
    void expect_replicated(std::size_t offset, std::size_t size) const {
        EXPECT_EQ(std::memcmp(part(0).data() + offset, local.data() + offset, size), 0)
            << size << " bytes at " << offset;
    }

    // Persists SIZE bytes with LANE, closes the pool, and expects them in the first part.
    void expect_served(RPMEMpool* pool, std::size_t size = 100, unsigned lane = 0) const {
        ASSERT_TRUE(succeeded(rpmem_persist(pool, 8192, size, lane, 0)));
        EXPECT_TRUE(succeeded(rpmem_close(pool)));
        expect_replicated(8192, size);
    }
    // Persists repeatedly until the loss of the session makes a persist fail.
    static int persist_until_it_fails(RPMEMpool* pool) {
        int status = 0;
        for (int i = 0; i < 1000 && status == 0; ++i)
            status = rpmem_persist(pool, 8192, 1000, 0, 0);
        return status;
    }

    LocalPool local;
};

} // namespace rpmem::test
