// The real daemon as a child, with pipes where ssh would be.
#pragma once

#include "common/base/unique_fd.hpp"
#include "common/wire/control_messages.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rpmem::hostile {

// Every wait ends here: a daemon that takes longer hangs.
inline constexpr std::chrono::seconds patience(10);

struct Ending {
    bool in_time = false;   // it ended by itself
    bool by_signal = false; // and not by exit
    int status = 0;         // exit status, or the signal
    wire::Bytes output;     // all that it wrote on standard output
    std::string error_text; // and on standard error
};

class DaemonProcess {
public:
    // SSH_CONNECTION: nothing leaves it out of the environment. OFFER: the value of RPMEMD_OFFER;
    // the same. VARIABLES: more of the environment, as NAME=VALUE.
    DaemonProcess(const std::vector<std::string>& arguments, const std::filesystem::path& home,
                  const std::optional<std::string>& ssh_connection,
                  const std::optional<std::string>& offer = std::nullopt,
                  const std::vector<std::string>& variables = {});
    ~DaemonProcess(); // kills what still runs
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

    // False if the daemon has closed its end, or takes nothing any more.
    bool send(std::span<const std::byte> bytes);
    // Up to SIZE bytes of standard output; fewer at its end or when patience is over.
    wire::Bytes receive(std::size_t size);
    void close_input() { input_.reset(); }
    void close_output() { output_.reset(); }
    void signal(int number) const;
    [[nodiscard]] pid_t pid() const { return pid_; }

    // Waits for the end. Standard input is left as it is. Standard error is read meanwhile, or only
    // when the daemon has ended.
    enum class ErrorText { read_at_once, read_at_the_end };
    Ending wait(ErrorText error_text = ErrorText::read_at_once);

private:
    pid_t pid_ = -1;
    UniqueFd process_; // a pidfd
    UniqueFd input_;
    UniqueFd output_;
    UniqueFd error_;
};

} // namespace rpmem::hostile
