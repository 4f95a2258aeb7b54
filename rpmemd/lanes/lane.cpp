#include "lanes/lane.hpp"

#include "base/cache_line.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace rpmem::target {
namespace {

using wire::PersistMessage;
using wire::PersistMode;

// What finds no buffer waits in the stream, where there is one: few buffers are soon used again,
// and still in the cache. Elsewhere each message that the peer may send needs its own.
unsigned buffer_count(const fabric::Provider& provider, const wire::MessageRules& rules) {
    constexpr std::size_t cached_bytes = std::size_t{1} << 20;
    constexpr std::size_t least = 4;
    if (!provider.holds_back_messages)
        return rules.in_flight;
    const std::size_t cached = cached_bytes / std::max<std::size_t>(rules.inline_size, 1);
    return static_cast<unsigned>(std::min<std::size_t>(std::max(cached, least), rules.in_flight));
}

PersistMode mode_of(const PersistMessage& message) {
    return static_cast<PersistMode>(message.flags & wire::persist_mode_mask);
}

} // namespace

std::size_t Lane::most_data(const fabric::Provider& provider, const wire::MessageRules& rules) {
    return buffer_count(provider, rules) * rules.inline_size;
}

Result<std::unique_ptr<Lane>> Lane::open(const fabric::Domain& domain,
                                         const fabric::Provider& provider, fi_info* info,
                                         const fabric::EventQueue& events,
                                         const fabric::CompletionQueue& completions, unsigned index,
                                         const wire::MessageRules& rules) {
    std::unique_ptr<Lane> lane(new Lane(index, rules));
    RPMEM_TRY(lane->set_up(domain, provider, info, events, completions));
    return lane;
}

Result<> Lane::set_up(const fabric::Domain& domain, const fabric::Provider& provider, fi_info* info,
                      const fabric::EventQueue& events,
                      const fabric::CompletionQueue& completions) {
    message_size_ = sizeof(PersistMessage) + rules_.inline_size;
    const unsigned count = buffer_count(provider, rules_);
    const std::size_t size = count * up_to_cache_lines(message_size_);
    // Not touched: pages that no message reaches cost nothing.
    memory_.reset(new (std::nothrow) std::byte[size]);
    if (!memory_)
        return fail(ErrorClass::resource_limit, ENOMEM,
                    "no memory for the {} bytes of message buffers of lane {}", size, index_);
    auto region =
        fabric::register_memory(domain, provider, memory_.get(), size, fabric::Access::local);
    if (!region)
        return propagate(std::move(region));
    region_ = std::move(*region);
    auto endpoint = fabric::Endpoint::open(domain, info, events, completions);
    if (!endpoint)
        return propagate(std::move(endpoint));
    endpoint_ = std::move(*endpoint);
    posts_late_ = provider.holds_back_messages && count > 1;
    buffers_.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
        buffers_.push_back({this, memory_.get() + i * up_to_cache_lines(message_size_)});
        if (const int status = post(buffers_.back()); status != 0)
            return fabric::fail_fabric(ErrorClass::resource_limit, status,
                                       "cannot post a receive buffer of lane {}", index_);
    }
    return {};
}

int Lane::post(const MessageBuffer& buffer) {
    return endpoint_.post_receive(buffer.data, message_size_, region_.descriptor(),
                                  const_cast<MessageBuffer*>(&buffer));
}

// Copies a range of the pool to a window of this lane.
std::string Lane::fetch(const std::byte* address, const PersistMessage& message,
                        const ServedMemory& memory) const {
    if (!memory.windows)
        return fmt::format("{} bytes were asked for in a pool that the peer can read itself",
                           message.size);
    if (message.size > memory.window_size)
        return fmt::format("{} bytes were asked for, and a window of a lane has {}", message.size,
                           memory.window_size);
    const unsigned window =
        rules_.windows == 1 ? 0 : message.flags >> wire::window_shift & wire::window_mask;
    if (window >= rules_.windows)
        return fmt::format("window {} was named, and a lane has {}", window, rules_.windows);
    std::memcpy(memory.windows + (index_ * rules_.windows + window) * memory.window_size, address,
                message.size);
    return {};
}

std::string Lane::take(const MessageBuffer& buffer, std::size_t received,
                       const ServedMemory& memory, const Persister& persister) {
    std::span<const std::byte> rest(buffer.data, received);
    bool more = true;
    for (std::size_t number = 1; more; ++number) {
        PersistMessage message;
        if (rest.size() < sizeof(message))
            return fmt::format("a message of {} bytes is shorter than its header of {}",
                               rest.size(), sizeof(message));
        std::memcpy(&message, rest.data(), sizeof(message));
        last_flags_ = message.flags;
        more = rules_.gathering && (message.flags & wire::another_follows) != 0;
        if ((more || number > 1) &&
            (mode_of(message) != PersistMode::inline_data || number > wire::most_gathered))
            return fmt::format("number {} of gathered messages has flags {:#x}; there may be {}, "
                               "all with data",
                               number, message.flags, wire::most_gathered);
        std::span<const std::byte> data = rest.subspan(sizeof(message));
        if (more) {
            if (message.size > data.size() || wire::size_among_others(message.size) > rest.size())
                return fmt::format("a message announces {} bytes of data and others behind it, and "
                                   "{} bytes are left",
                                   message.size, data.size());
            data = data.first(message.size);
            rest = rest.subspan(wire::size_among_others(message.size));
        }
        if (std::string problem = act(message, data, memory, persister); !problem.empty())
            return problem;
    }
    ++unanswered_;
    if (!rules_.late_answers || (last_flags_ & wire::answer_may_wait) == 0)
        answer_wanted_ = true;
    // The answer lets the next message come: be ready before, unless there are other buffers and
    // what finds none waits; then the answer is sooner on its way. If this fails the lane is gone,
    // and the control loop is told by the event queue.
    if (posts_late_ && answer_wanted_ && !spent_)
        spent_ = &buffer;
    else
        static_cast<void>(post(buffer));
    return {};
}

void Lane::get_ready() {
    if (spent_)
        static_cast<void>(post(*std::exchange(spent_, nullptr)));
}

std::string Lane::act(const PersistMessage& message, std::span<const std::byte> data,
                      const ServedMemory& memory, const Persister& persister) {
    const std::uint64_t offset = message.addr - memory.remote_base;
    if (message.addr < memory.remote_base || offset > memory.size ||
        message.size > memory.size - offset)
        return fmt::format("the range of {} bytes at {:#x} is not within the pool of {} bytes at "
                           "{:#x}",
                           message.size, message.addr, memory.size, memory.remote_base);
    if (memory.read_only && mode_of(message) != PersistMode::fetch)
        return "a message that writes came, and this session may only read (read-only)";
    std::byte* const address = memory.address + offset;
    switch (mode_of(message)) {
    case PersistMode::persist_written:
        return taken_.add(address, message.size, persister);
    case PersistMode::deep_persist:
        if (std::string problem = taken_.persist(persister); !problem.empty())
            return problem;
        if (persister.deep_persist(address, message.size) != 0)
            return persister.failure_text();
        return {};
    case PersistMode::inline_data:
        if (message.size != data.size())
            return fmt::format("a message announces {} bytes of data and carries {}", message.size,
                               data.size());
        return taken_.copy(address, data, persister);
    case PersistMode::fetch:
        return fetch(address, message, memory);
    default:
        return fmt::format("unknown persist mode in flags {:#x}", message.flags);
    }
}

bool Lane::answer() {
    if (!answer_wanted_)
        return true;
    const wire::PersistResponse response{rules_.counted_answers ? unanswered_ : last_flags_,
                                         index_};
    if (endpoint_.inject(&response, sizeof(response)) == -FI_EAGAIN)
        return false;
    unanswered_ = 0; // any other failure: the lane is gone
    answer_wanted_ = false;
    get_ready();
    return true;
}

} // namespace rpmem::target
