// What an integration test stands on: a target on this machine, reached through a private sshd
// (see tests/support/with-sshd and run_tests.sh), with pools in files of its own.
#pragma once

#include <gtest/gtest.h>
#include <librpmem.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace rpmem::test {

constexpr std::size_t mebibyte = 1024 * 1024;
constexpr std::size_t header_size = 4096;

// Page-aligned memory that is filled with a pattern.
class LocalPool {
public:
    explicit LocalPool(std::size_t size);
    ~LocalPool();
    LocalPool(const LocalPool&) = delete;
    LocalPool& operator=(const LocalPool&) = delete;

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    void fill(std::uint64_t seed);

private:
    std::byte* data_;
    std::size_t size_;
};

// Of this process, by number.
std::set<std::string> open_descriptors();

// Returns when THREAD of this process sleeps in a system call; false: it does not for long.
bool falls_asleep(pid_t thread);

std::vector<std::byte> bytes_of(const std::filesystem::path& file);
rpmem_pool_attr sample_attributes();
const char* variable(const char* name); // never null; fails the test if it is not set

class TargetTest : public ::testing::Test {
protected:
    TargetTest();
    ~TargetTest() override;

    // TEXT is the body of the pool set file NAME; "%" in it stands for directory().
    void write_pool_set(const std::string& name, const std::string& text) const;
    // One part of this many MiB with headers, named pool.set; its file is part0.
    void write_simple_pool_set(unsigned mebibytes) const;
    // What the next sessions run on the target instead of the daemon.
    void set_command(const std::string& shell_script) const;
    // The daemon with OPTIONS, and VARIABLES (assignments) in its environment.
    void set_daemon(const std::string& options, const std::string& variables = "") const;

    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
    [[nodiscard]] std::vector<std::byte> part(unsigned number) const;
    [[nodiscard]] std::string daemon_log() const;
    // Of the last session that ran the daemon as set_daemon() says.
    [[nodiscard]] pid_t daemon_process() const;
    [[nodiscard]] unsigned threads_of_daemon() const;
    // Sends SIGSTOP, and returns when no thread of it runs any more.
    void stop_daemon() const;
    // Nobody holds the part: the daemon has ended or is about to (waits some seconds).
    [[nodiscard]] bool part_gets_unlocked(unsigned number) const;

    // Else a daemon that is denied a system call fails the test.
    void denials_are_expected() { denials_are_expected_ = true; }

    RPMEMpool* create(LocalPool& pool, unsigned lanes, const char* pool_set = "pool.set");
    RPMEMpool* open(LocalPool& pool, unsigned lanes, const char* pool_set = "pool.set");
    unsigned lanes_in_force = 0;

    const std::string target = variable("RPMEM_TEST_TARGET");

private:
    std::filesystem::path directory_;
    bool denials_are_expected_ = false;
};

} // namespace rpmem::test
