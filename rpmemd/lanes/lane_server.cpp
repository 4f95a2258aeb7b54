// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/lanes/lane_server.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>

namespace rpmem::target {

unsigned LaneServer::count_workers(unsigned wanted, unsigned lanes) {
    const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp(wanted == 0 ? processors : wanted, 1U, lanes);
}

Result<> LaneServer::add_worker(std::unique_ptr<transport::Group> group) {
    RPMEM_ASSIGN(auto worker,
                 FrameWorker::make(std::move(group), [this](unsigned lane, const std::string& how,
                                                            std::string error_text) {
                     lane_ended(lane, how, std::move(error_text));
                 }));
    workers_.push_back(std::move(worker));
    return {};
}

std::vector<std::shared_ptr<const WorkerCounters>> LaneServer::counters() const {
    std::vector<std::shared_ptr<const WorkerCounters>> all;
    for (const auto& worker : workers_)
        all.push_back(worker->counters());
    return all;
}

bool LaneServer::may_have_written() const {
    if (is_direct())
        return was_reached();
    return std::ranges::any_of(counters(), [](const auto& worker) {
        return worker->requests[static_cast<unsigned>(RequestKind::write)].requests.value() > 0;
    });
}

bool LaneServer::may_accept() {
    if (!before_first_)
        return true;
    if (const auto done = before_first_(); !done) {
        fail_by(done.error().text);
        return false;
    }
    before_first_ = nullptr;
    return true;
}

bool LaneServer::serve(unsigned lane, std::unique_ptr<transport::LaneConnection> connection,
                       const wire::LaneCredits& credits, bool direct) {
    const wire::LaneTerms terms{.credits = credits,
                                .pool_size = pool_.memory.size(),
                                .read_only = pool_.read_only,
                                .direct = direct,
                                .digests = pool_.digests};
    FrameWorker& worker = *workers_[worker_of(lane)];
    const auto taken = worker.take(std::make_unique<ServedLane>(
        lane, std::move(connection), terms, pool_.memory.data(), pool_.medium, *worker.counters()));
    if (!taken)
        fail_by(fmt::format("lane {}: {}", lane, taken.error().text));
    return taken.has_value();
}

void LaneServer::lane_ended(unsigned, const std::string& how, std::string error_text) {
    if (!error_text.empty())
        fail_by(std::move(error_text));
    log_.info("{}", how);
}

Result<> LaneServer::wait_until(std::optional<std::chrono::steady_clock::time_point> deadline,
                                std::span<pollfd> fds, std::chrono::milliseconds limit) {
    if (deadline)
        limit = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(
                               *deadline - std::chrono::steady_clock::now()),
                           std::chrono::milliseconds(0), limit);
    if (::poll(fds.data(), fds.size(), static_cast<int>(limit.count())) < 0 && errno != EINTR)
        return fail_errno(ErrorClass::resource_limit, errno,
                          "cannot wait for the client and the lanes (poll)");
    return {};
}

} // namespace rpmem::target
