#include "tests/vm/bare_fabric.hpp"

#include <array>
#include <cerrno>

namespace rpmem::vm {
namespace {

using fabric::Access;
using EventKind = fabric::ConnectionEvent::Kind;

constexpr std::chrono::minutes patience(1);
constexpr fabric::QueueSizes queues{16, 16};

template <typename Value>
Result<> put(Value& place, Result<Value> value) {
    if (!value)
        return Failure(value.error());
    place = std::move(*value);
    return {};
}

template <typename Value>
Result<> put(std::unique_ptr<Value>& place, Result<Value> value) {
    if (!value)
        return Failure(value.error());
    place = std::make_unique<Value>(std::move(*value));
    return {};
}

// The next event of one end. OTHER has nothing to say before, but moves on only when it is read.
Result<fabric::ConnectionEvent> await(const fabric::EventQueue& events, EventKind kind,
                                      const fabric::EventQueue* other = nullptr) {
    constexpr std::chrono::milliseconds turn(10);
    const Deadline deadline(patience);
    while (!deadline.passed()) {
        if (other)
            if (auto event = other->read(); !event || *event)
                break;
        RPMEM_ASSIGN(auto event, events.wait(Deadline(turn), -1));
        if (event && event->kind == kind)
            return std::move(*event);
        if (event)
            break;
    }
    return fail(ErrorClass::link_lost, ECONNREFUSED, "the bare connection was not made");
}

} // namespace

Result<std::unique_ptr<BareFabric>> BareFabric::open(const std::string& address) {
    std::unique_ptr<BareFabric> bare(new BareFabric);
    RPMEM_TRY(bare->set_up(address));
    return bare;
}

Result<> BareFabric::set_up(const std::string& address) {
    using fabric::ProviderKind;
    RPMEM_TRY(put(there_, fabric::find_to_listen(ProviderKind::verbs, address, "0", queues)));
    RPMEM_TRY(put(there_domain_, fabric::open_domain(there_)));
    RPMEM_TRY(put(target_region_, fabric::register_memory(there_domain_, there_, target_.get(),
                                                          memory_size, Access::remote)));
    RPMEM_TRY(put(there_events_, fabric::EventQueue::open(there_domain_)));
    RPMEM_TRY(put(there_completions_,
                  fabric::CompletionQueue::open(there_domain_, fabric::completions_of(there_, 1))));
    RPMEM_TRY(
        put(listener_, fabric::PassiveEndpoint::listen(there_domain_, there_, *there_events_)));

    const std::string port = std::to_string(listener_->port());
    RPMEM_TRY(put(here_, fabric::find_to_connect(ProviderKind::verbs, address, port, queues)));
    RPMEM_TRY(put(here_domain_, fabric::open_domain(here_)));
    RPMEM_TRY(put(source_region_, fabric::register_memory(here_domain_, here_, source_.get(),
                                                          memory_size, Access::local)));
    RPMEM_TRY(put(here_events_, fabric::EventQueue::open(here_domain_)));
    RPMEM_TRY(put(here_completions_,
                  fabric::CompletionQueue::open(here_domain_, fabric::completions_of(here_, 1))));
    return connect();
}

Result<> BareFabric::connect() {
    RPMEM_TRY(put(here_end_, fabric::Endpoint::open(here_domain_, here_.info.get(), *here_events_,
                                                    here_completions_)));
    RPMEM_TRY(here_end_.connect(here_.info->dest_addr));
    RPMEM_ASSIGN(auto request, await(*there_events_, EventKind::requested, here_events_.get()));
    RPMEM_TRY(put(there_end_, fabric::Endpoint::open(there_domain_, request.info.get(),
                                                     *there_events_, there_completions_)));
    RPMEM_TRY(there_end_.accept());
    RPMEM_TRY(await(*here_events_, EventKind::connected));
    RPMEM_TRY(await(*there_events_, EventKind::connected));
    return {};
}

bool BareFabric::write_and_read(std::size_t size) {
    void* const descriptor = source_region_.descriptor();
    const fabric::RemoteAddress remote{target_region_.remote_base(), target_region_.key()};
    std::byte* const landing = source_.get() + memory_size - sizeof(std::uint64_t);
    if (here_end_.post_write(source_.get(), size, descriptor, remote, nullptr) != 0 ||
        here_end_.post_read(landing, sizeof(std::uint64_t), descriptor, remote, nullptr) != 0)
        return false;
    std::array<fabric::Completion, 2> entries;
    for (int done = 0; done < 2;) {
        const int got = here_completions_.read(entries);
        if (got < 0)
            return false;
        done += got;
    }
    return true;
}

} // namespace rpmem::vm
