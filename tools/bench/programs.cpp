#include "tools/bench/programs.hpp"

#include "common/base/unique_fd.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rpmem::bench {
namespace {

std::string shown(const std::string& program) {
    return program == own_program ? "a second process of rpmem-bench" : "'" + program + "'";
}

Result<pid_t> spawn(const std::vector<std::string>& words, int output) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t pid = 0;
    const int status =
        posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (status != 0)
        return fail_errno(ErrorClass::caller_fault, status, "cannot start {}", shown(words[0]));
    return pid;
}

std::string read_all(int fd) {
    std::string text;
    std::array<char, 4096> buffer;
    while (true) {
        const ssize_t got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
}

} // namespace

Result<Ended> run_program(const std::vector<std::string>& words) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0)
        return fail_errno(ErrorClass::resource_limit, errno, "cannot make a pipe");
    const UniqueFd read_end(fds[0]);
    UniqueFd write_end(fds[1]);
    Ended ended;
    ended.started = now();
    RPMEM_ASSIGN(const pid_t pid, spawn(words, write_end.get()));
    write_end.reset();
    ended.output = read_all(read_end.get());
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    ended.ended = now();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail(ErrorClass::target_refused, EIO, "{} failed; it says why above",
                    shown(words[0]));
    return ended;
}

} // namespace rpmem::bench
