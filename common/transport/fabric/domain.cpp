// SPDX-License-Identifier: BSD-3-Clause
#include "common/transport/fabric/domain.hpp"

#include "common/rdma/fork_safety.hpp"
#include "common/rdma/memory_lock.hpp"

#include <poll.h>
#include <rdma/fi_cm.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rpmem::fabric {
namespace {

// A key that cannot be guessed keeps other machines from accessing the pool.
Result<std::uint64_t> random_key(std::size_t key_size) {
    std::uint64_t key = 0;
    if (getrandom(&key, sizeof(key), 0) != static_cast<ssize_t>(sizeof(key)))
        return fail_errno(ErrorClass::bug, errno,
                          "cannot get random bytes for the key of a memory region (getrandom)");
    return key_size >= sizeof(key) ? key : key & ((std::uint64_t{1} << (8 * key_size)) - 1);
}

std::uint64_t rights_of(Access access) {
    switch (access) {
    case Access::local:
        return FI_READ | FI_WRITE | FI_SEND | FI_RECV;
    case Access::remote:
        return FI_REMOTE_READ | FI_REMOTE_WRITE | FI_SEND;
    case Access::remote_read:
        break;
    }
    return FI_REMOTE_READ | FI_SEND;
}

// Returns advice for memory that the kernel does not pin, because an errno value does not help the
// user.
std::string pinning_advice(int code, const void* address, std::size_t size) {
    switch (code) {
    case ENOMEM:
        return "; " + rdma::explain_lock_limit(rdma::read_lock_limit(),
                                               reinterpret_cast<std::uintptr_t>(address), size,
                                               rdma::name_of_user());
    case EOPNOTSUPP:
        return ": the kernel pins no files of a file system on persistent memory (mounted with -o "
               "dax) for RDMA; make the pool of Device DAX (ndctl create-namespace -m devdax, and "
               "AUTO /dev/dax0.0 in the pool set file), use a device with on-demand paging "
               "(RPMEM_ODP), or TCP: RPMEM_ENABLE_VERBS=0 at the initiator";
    case EFAULT:
        return ": kernels since 6.5 pin no files of ordinary file systems for RDMA; make the pool "
               "of Device DAX or of files on tmpfs, use a device with on-demand paging "
               "(RPMEM_ODP), or TCP: RPMEM_ENABLE_VERBS=0 at the initiator";
    case EINVAL:
        // After ibv_fork_init(3), libibverbs keeps pages from children by madvise(2), which fails
        // for a part of a huge page.
        if (const auto safety = rdma::fork_safety();
            safety && *safety == rdma::ForkSafety::kept_from_children &&
            !::secure_getenv("RDMAV_HUGEPAGES_SAFE"))
            return "; if the memory is in huge pages or Device DAX, set RDMAV_HUGEPAGES_SAFE=1 in "
                   "the environment, because ibv_fork_init(3) is active and needs to know that";
        return {};
    default:
        return {};
    }
}

// Maximum bytes of data that a provider delivers with a connection request.
constexpr std::size_t max_connection_data = 256;

Result<int> wait_fd_of(fid_t object, const char* what) {
    int fd = -1;
    RPMEM_TRY(checked(fi_control(object, FI_GETWAIT, &fd), ErrorClass::bug,
                      "cannot get a descriptor to wait for the {}", what));
    return fd;
}

ConnectionEvent failed_event(fid_eq* queue) {
    fi_eq_err_entry entry{};
    const ssize_t status = fi_eq_readerr(queue, &entry, 0);
    const int code = status < 0 ? static_cast<int>(-status) : std::abs(entry.err);
    return {.kind = ConnectionEvent::Kind::failed,
            .object = status < 0 ? nullptr : entry.fid,
            .text = fi_strerror(code),
            .code = code};
}

int failed_operation(fid_cq* queue, void*& context) {
    fi_cq_err_entry entry{};
    context = nullptr;
    const ssize_t status = fi_cq_readerr(queue, &entry, 0);
    if (status < 0)
        return static_cast<int>(status);
    context = entry.op_context;
    return entry.err > 0 ? -entry.err : -EIO;
}

} // namespace

Result<Domain> open_domain(const Provider& provider) {
    fid_fabric* fabric = nullptr;
    RPMEM_TRY(checked(fi_fabric(provider.info->fabric_attr, &fabric, nullptr),
                      ErrorClass::resource_limit, "cannot open the fabric {}",
                      name_of(provider.kind)));
    Domain opened{Handle<fid_fabric>(fabric), nullptr};
    fid_domain* domain = nullptr;
    RPMEM_TRY(checked(fi_domain(fabric, provider.info.get(), &domain, nullptr),
                      ErrorClass::resource_limit, "cannot open the {} device {}",
                      name_of(provider.kind), provider.info->domain_attr->name));
    opened.domain.reset(domain);
    return opened;
}

Result<MemoryRegion> register_memory(const Domain& domain, const Provider& provider, void* address,
                                     std::size_t size, Access access) {
    if (access == Access::local && !provider.local_registration)
        return MemoryRegion();
    const std::uint64_t rights = rights_of(access);
    const bool pins = provider.pins_memory && !provider.pages_on_demand;
    const std::string failing = fmt::format(
        "cannot register {} bytes of memory with the provider {}", size, name_of(provider.kind));
    if (pins)
        RPMEM_TRY(in_context(failing, rdma::make_room_to_lock(address, size)));
    std::uint64_t key = 0;
    if (!provider.provider_keys) {
        RPMEM_ASSIGN(key, random_key(provider.key_size));
    }
    fid_mr* region = nullptr;
    const int status =
        fi_mr_reg(domain.domain.get(), address, size, rights, 0, key, 0, &region, nullptr);
    if (status != 0) {
        Error error = fail_fabric(ErrorClass::resource_limit, status, "{}", failing).value();
        if (pins)
            error.text += pinning_advice(error.code, address, size);
        return Failure(std::move(error));
    }
    return MemoryRegion(Handle<fid_mr>(region), provider.virtual_addressing
                                                    ? reinterpret_cast<std::uintptr_t>(address)
                                                    : 0);
}

Result<EventQueue> EventQueue::open(const Domain& domain) {
    fi_eq_attr attributes{};
    attributes.wait_obj = FI_WAIT_FD;
    fid_eq* queue = nullptr;
    RPMEM_TRY(checked(fi_eq_open(domain.fabric.get(), &attributes, &queue, nullptr),
                      ErrorClass::resource_limit, "cannot open an event queue"));
    Handle<fid_eq> owned(queue);
    RPMEM_ASSIGN(const int fd, wait_fd_of(&queue->fid, "event queue"));
    return EventQueue(std::move(owned), domain, fd);
}

bool EventQueue::prepare_sleep() const {
    fid_t objects[] = {&queue_->fid};
    return fi_trywait(fabric_, objects, 1) == 0;
}

Result<std::optional<ConnectionEvent>> EventQueue::read() const {
    using Kind = ConnectionEvent::Kind;
    std::uint32_t event = 0;
    alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + max_connection_data>
        buffer;
    const ssize_t got = fi_eq_read(queue_.get(), &event, buffer.data(), buffer.size(), 0);
    if (got == -FI_EAGAIN)
        return std::nullopt;
    if (got == -FI_EAVAIL)
        return failed_event(queue_.get());
    if (got < 0)
        return fail_fabric(ErrorClass::link_lost, static_cast<int>(got),
                           "cannot read an event queue");
    const auto size = static_cast<std::size_t>(got);
    if (size < sizeof(fi_eq_cm_entry))
        return std::nullopt; // not a connection event
    fi_eq_cm_entry entry;
    std::memcpy(&entry, buffer.data(), sizeof(entry));
    switch (event) {
    case FI_CONNREQ:
        return ConnectionEvent{.kind = Kind::requested,
                               .object = entry.fid,
                               .info = Info(entry.info),
                               .data = {buffer.begin() + sizeof(entry),
                                        buffer.begin() + static_cast<std::ptrdiff_t>(size)}};
    case FI_CONNECTED:
        return ConnectionEvent{.kind = Kind::connected, .object = entry.fid};
    case FI_SHUTDOWN:
        return ConnectionEvent{.kind = Kind::shut_down, .object = entry.fid};
    default:
        return std::nullopt;
    }
}

Result<std::optional<ConnectionEvent>> EventQueue::wait(const Deadline& deadline, int wake) const {
    // Providers without a thread of their own make progress only while the queue is read, so read
    // it at this interval even if the descriptor reports nothing.
    constexpr int look_again_ms = 100;
    while (true) {
        auto event = read();
        if (!event || *event)
            return event;
        if (deadline.passed())
            return std::nullopt;
        if (!prepare_sleep())
            continue;
        pollfd fds[2] = {{fd_, POLLIN, 0}, {wake, POLLIN, 0}};
        ::poll(fds, wake >= 0 ? 2 : 1, std::min(deadline.poll_timeout(), look_again_ms));
        if (wake >= 0 && fds[1].revents != 0)
            return std::nullopt;
    }
}

Result<CompletionQueue> CompletionQueue::open(const Domain& domain, std::size_t size) {
    fi_cq_attr attributes{};
    attributes.size = size;
    attributes.format = FI_CQ_FORMAT_MSG;
    attributes.wait_obj = FI_WAIT_FD;
    fid_cq* queue = nullptr;
    RPMEM_TRY(checked(fi_cq_open(domain.domain.get(), &attributes, &queue, nullptr),
                      ErrorClass::resource_limit, "cannot open a completion queue of {} entries",
                      size));
    Handle<fid_cq> owned(queue);
    RPMEM_ASSIGN(const int fd, wait_fd_of(&queue->fid, "completion queue"));
    return CompletionQueue(std::move(owned), domain.fabric.get(), fd);
}

int CompletionQueue::read(std::span<Completion> entries) const {
    const ssize_t got = fi_cq_read(queue_.get(), entries.data(), entries.size());
    if (got == -FI_EAVAIL)
        return failed_operation(queue_.get(), failed_context_);
    return got == -FI_EAGAIN ? 0 : static_cast<int>(got);
}

bool CompletionQueue::sleep(int timeout_ms, int wake) const {
    fid_t objects[] = {&queue_->fid};
    if (fi_trywait(fabric_, objects, 1) != 0)
        return true;
    pollfd fds[2] = {{fd_, POLLIN, 0}, {wake, POLLIN, 0}};
    ::poll(fds, 2, timeout_ms);
    return fds[1].revents == 0;
}

} // namespace rpmem::fabric
