// Stands for ssh and an rpmemd of protocol 0.1 in a whole session of the library: one create, one
// close, and between them lanes to a recording target.
#pragma once

#include "common/base/deadline.hpp"
#include "common/base/io.hpp"
#include "common/wire/control_messages.hpp"
#include "librpmem/settings/settings.hpp"
#include "tests/support/bare_end.hpp"
#include "tests/support/recording_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace rpmem::test {

class RecordingDaemon {
public:
    RecordingDaemon(std::size_t pool_size, wire::PersistMethod method)
        : method_(method), target_({.pool_size = pool_size, .is_slow = false}) {
        std::string pattern = std::filesystem::temp_directory_path() / "rpmem-daemon-XXXXXX";
        if (!::mkdtemp(pattern.data()))
            throw std::runtime_error("no directory for the session");
        directory_ = pattern;
        requests_ = make_fifo("requests");
        responses_ = make_fifo("responses");
        // ssh(1) with -G is asked how it would reach the target.
        std::ofstream(ssh())
            << "#!/bin/sh\n"
               "case \" $* \" in *' -G '*) echo 'hostname 127.0.0.1'; exit ;; esac\n"
               "cd "
            << directory_.string() << "\nexec 3<&0\ncat <&3 >requests &\nexec cat <responses\n";
        std::filesystem::permissions(ssh(), std::filesystem::perms::owner_all);
        thread_ = std::thread([this] { run(); });
    }
    ~RecordingDaemon() {
        stop_.raise();
        thread_.join();
        std::filesystem::remove_all(directory_);
    }
    RecordingDaemon(const RecordingDaemon&) = delete;
    RecordingDaemon& operator=(const RecordingDaemon&) = delete;

    [[nodiscard]] RecordingTarget& target() { return target_; }
    // The settings of a library that comes here for any target on this machine.
    [[nodiscard]] initiator::Settings settings() const {
        initiator::Settings settings =
            initiator::read_settings([](const char*) -> const char* { return nullptr; });
        settings.ssh = ssh();
        settings.enable_verbs = false;
        settings.enable_tcp = false;
        settings.enable_sockets = true;
        settings.operation_timeout = fabric_patience;
        settings.connect_timeout = fabric_patience;
        return settings;
    }
    // How much of the record there was when the library asked to close the pool.
    [[nodiscard]] std::size_t recorded_at_close() const { return recorded_at_close_; }
    // The library wanted the pool to be removed.
    [[nodiscard]] bool asked_to_remove() const { return asked_to_remove_; }

private:
    [[nodiscard]] std::string ssh() const { return directory_ / "ssh"; }

    // Open at both ends, so that nobody waits for the other to open it.
    [[nodiscard]] UniqueFd make_fifo(const char* name) const {
        const std::string path = directory_ / name;
        const int fd = ::mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0
                           ? ::open(path.c_str(), O_RDWR | O_CLOEXEC)
                           : -1;
        if (fd < 0)
            throw std::runtime_error("no FIFO for the session");
        return UniqueFd(fd);
    }

    void run() try {
        say(wire::encode_initial_status(0));
        while (answer_request())
            ;
        responses_ = UniqueFd(); // which ends what stands for ssh
    } catch (const std::exception&) {
        responses_ = UniqueFd(); // the library says what it misses
    }

    // False: that was the last.
    bool answer_request() {
        const auto header = value_of(wire::decode_request_header(hear(wire::request_header_size)));
        const auto body = hear(header.size - wire::request_header_size);
        const wire::Request request = value_of(wire::decode_request(header, body));
        if (const auto* create = std::get_if<wire::CreateRequest>(&request)) {
            say(wire::encode(wire::CreateResponse{wire::Status::success,
                                                  {target_.port(), method_, target_.remote_key(),
                                                   target_.remote_address(), create->lanes}}));
            return true;
        }
        recorded_at_close_ = target_.record().size();
        const auto* const close = std::get_if<wire::CloseRequest>(&request);
        asked_to_remove_ = close && close->remove;
        say(wire::encode(wire::CloseResponse{wire::Status::success}));
        return false;
    }

    void say(const wire::Bytes& bytes) const {
        if (!write_fully(responses_.get(), bytes, Deadline(fabric_patience)))
            throw std::runtime_error("the library does not listen");
    }
    [[nodiscard]] wire::Bytes hear(std::size_t size) const {
        wire::Bytes bytes(size);
        const Deadline deadline(fabric_patience);
        for (std::size_t got = 0; got < size; ++got) {
            if (!value_of(wait_readable(requests_.get(), deadline, stop_.fd())) ||
                value_of(read_fully(requests_.get(), std::span(bytes).subspan(got, 1), deadline)) ==
                    0)
                throw std::runtime_error("the library says nothing");
        }
        return bytes;
    }

    wire::PersistMethod method_;
    RecordingTarget target_;
    std::filesystem::path directory_;
    UniqueFd requests_;
    UniqueFd responses_;
    Event stop_ = value_of(Event::make());
    std::atomic<std::size_t> recorded_at_close_ = 0;
    std::atomic<bool> asked_to_remove_ = false;
    std::thread thread_;
};

} // namespace rpmem::test
