#include "lanes/lane.hpp"

#include "base/cache_line.hpp"
#include "lanes/messages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace rpmem {
namespace {

// Of the place of a message: room for the header of a message and for data that are quicker copied
// than referred to.
constexpr std::size_t slot_size = 256;
static_assert(sizeof(wire::PersistMessage) < slot_size);

} // namespace

Result<std::unique_ptr<Lane>> Lane::open(const fabric::Domain& domain,
                                         const fabric::Provider& provider,
                                         const fabric::EventQueue& events, unsigned index,
                                         const PoolMemory& memory, const LaneLimits& limits,
                                         const Alarm& alarm) {
    std::unique_ptr<Lane> lane(new Lane(index, memory, limits, alarm));
    RPMEM_TRY(lane->set_up(domain, provider, events));
    return lane;
}

Result<> Lane::set_up(const fabric::Domain& domain, const fabric::Provider& provider,
                      const fabric::EventQueue& events) {
    auto completions =
        fabric::CompletionQueue::open(domain, events, fabric::completions_of(provider, 1));
    if (!completions)
        return propagate(std::move(completions));
    completions_ = std::move(*completions);

    const std::size_t slots_size = limits_.messages.in_flight * slot_size;
    const std::size_t answers_size = limits_.messages.in_flight * sizeof(wire::PersistResponse);
    const std::size_t size =
        slots_size + answers_size +
        (limits_.local_registration ? landing_places * landing_size : cache_line);
    buffers_ = std::make_unique<std::byte[]>(size);
    slots_ = buffers_.get();
    answers_ = reinterpret_cast<wire::PersistResponse*>(slots_ + slots_size);
    landing_ = slots_ + slots_size + answers_size;
    // Not touched before the first small flush. Only where nothing need be registered.
    gathered_messages_.reset(new std::byte[gathered_places * gathered_.capacity()]);
    is_sent_.fill(true);
    auto region =
        fabric::register_memory(domain, provider, buffers_.get(), size, fabric::Access::local);
    if (!region)
        return propagate(std::move(region));
    buffers_region_ = std::move(*region);

    auto endpoint = fabric::Endpoint::open(domain, provider.info.get(), events, completions_);
    if (!endpoint)
        return propagate(std::move(endpoint));
    endpoint_ = std::move(*endpoint);
    for (unsigned i = 0; i < limits_.messages.in_flight; ++i)
        if (post_answer_buffer(&answers_[i]) != 0)
            return fail(ErrorClass::resource_limit, ENOBUFS,
                        "cannot post {} receive buffers for the answers of lane {}",
                        limits_.messages.in_flight, index_);
    return {};
}

void Lane::become_ready() {
    tells_processor_ = limits_.messages.processors && endpoint_.is_within_machine();
}

int Lane::post_answer_buffer(wire::PersistResponse* buffer) {
    return endpoint_.post_receive(buffer, sizeof(*buffer), buffers_region_.descriptor(), buffer);
}

// Takes in what has completed, waiting if there is nothing.
int Lane::make_progress() {
    std::array<fabric::Completion, 16> entries;
    int got = wait_.wait(completions_, entries, alarm_.fd);
    if (got == 0)
        got = wait_after_alarm(entries);
    if (got < 0)
        return got == -ETIMEDOUT ? ETIMEDOUT : ECONNRESET;
    for (int i = 0; i < got; ++i)
        if (const int code = take(entries[static_cast<std::size_t>(i)]))
            return code;
    return 0;
}

// As AdaptiveWait::wait(), but never 0.
int Lane::wait_after_alarm(std::span<fabric::Completion> entries) {
    const Deadline deadline(limits_.wait.timeout);
    while (!alarm_.is_lost()) {
        const auto left = std::chrono::milliseconds(deadline.poll_timeout());
        if (const int got = wait_.wait(completions_, entries, alarm_.fd, left); got != 0)
            return got;
        if (deadline.passed())
            return -ETIMEDOUT;
    }
    return -ECONNRESET;
}

inline int Lane::take(const fabric::Completion& completion) {
    if ((completion.flags & FI_RECV) != 0)
        return take_answer(completion);
    --in_flight_;
    if (completion.op_context)
        *static_cast<bool*>(completion.op_context) = true; // one of landed_, or of is_sent_
    return 0;
}

inline int Lane::take_answer(const fabric::Completion& completion) {
    auto* const answer = static_cast<wire::PersistResponse*>(completion.op_context);
    // Only the lane is looked at: 1.12.1's daemon never sets the flags of its answers.
    const std::uint64_t count = limits_.messages.counted_answers ? answer->flags : 1;
    if (completion.len != sizeof(*answer) || answer->lane != index_ || count == 0 ||
        count > requested_ - answered_)
        return refuse_answer(*answer, completion.len);
    answered_ += count;
    if (!spent_answer_ && limits_.messages.in_flight > 1) { // those posted do for the others
        spent_answer_ = answer;
        return 0;
    }
    return post_answer_buffer(answer) == 0 ? 0 : ECONNRESET;
}

int Lane::refuse_answer(const wire::PersistResponse& answer, std::size_t size) {
    wrong_answer_ = {answer, size};
    return EBADMSG;
}

std::string Lane::complaint() const {
    const auto& [answer, size] = wrong_answer_;
    if (size != sizeof(answer))
        return fmt::format("lane {} got an answer of {} bytes, which must have {}", index_, size,
                           sizeof(answer));
    if (answer.lane != index_)
        return fmt::format("lane {} got an answer that is for lane {}", index_, answer.lane);
    return fmt::format("lane {} got an answer to {} messages when {} were on their way", index_,
                       answer.flags, requested_ - answered_);
}

// Posts an operation as soon as there is room for it.
template <typename Post>
int Lane::post(Post post_operation) {
    while (true) {
        if (in_flight_ < limits_.queue_size) {
            const int status = post_operation();
            if (status == 0)
                return 0;
            if (status != -FI_EAGAIN || (in_flight_ == 0 && answered_ == requested_))
                return ECONNRESET;
        }
        if (const int code = make_progress())
            return code;
    }
}

// A write is in the pool as soon as it arrives, which may be before the target has copied what an
// earlier message brought: older bytes would come on top of newer ones, and the later range would
// be durable first.
int Lane::let_data_arrive() {
    const bool has_data_under_way = answered_ != requested_ && requested_ != last_without_data_;
    return has_data_under_way || !gathered_.empty() ? wait_for_answers() : 0;
}

int Lane::write(std::size_t offset, std::size_t length) {
    if (const int code = let_data_arrive())
        return code;
    has_unconfirmed_writes_ = true;
    while (length > 0) {
        const std::size_t size = std::min(length, limits_.max_transfer);
        const int code = post([&] {
            return endpoint_.post_write(memory_.local + offset, size, memory_.local_descriptor,
                                        {memory_.remote.address + offset, memory_.remote.key},
                                        nullptr);
        });
        if (code != 0)
            return code;
        ++in_flight_;
        offset += size;
        length -= size;
    }
    return 0;
}

int Lane::write_and_request(std::size_t offset, std::size_t length, Answer answer) {
    if (const int code = write(offset, length))
        return code;
    if (const int code = request(wire::PersistMode::persist_written, offset, length, answer))
        return code;
    last_without_data_ = requested_;
    return 0;
}

// A message has been posted.
inline int Lane::count_request() {
    ++requested_;
    return spent_answer_ && post_answer_buffer(std::exchange(spent_answer_, nullptr)) != 0
               ? ECONNRESET
               : 0;
}

inline int Lane::await_room_for_message() {
    while (requested_ - answered_ >= limits_.messages.in_flight)
        if (const int code = make_progress())
            return code;
    return 0;
}

// Those that do not depend on the mode; of the next message, for LENGTH bytes.
inline std::uint32_t Lane::flags_of_request(Answer answer, std::size_t length) {
    last_may_wait_ = answer == Answer::may_wait &&
                     answer_can_wait(limits_.messages, requested_ + 1, unasked_ + length);
    unasked_ = last_may_wait_ ? unasked_ + length : 0;
    std::uint32_t flags = last_may_wait_ ? wire::answer_may_wait : 0;
    if (wait_.shared_processor() != 0) [[unlikely]]
        flags |= processor_flags();
    return flags;
}

int Lane::request(wire::PersistMode mode, std::size_t offset, std::size_t length, Answer answer,
                  unsigned window) {
    if (!gathered_.empty()) [[unlikely]]
        if (const int code = send_gathered(Answer::may_wait))
            return code;
    if (const int code = await_room_for_message())
        return code;
    // The message that used this slot before has been answered: nobody reads the slot any more.
    std::byte* const slot = slots_ + next_slot_ * slot_size;
    new (slot)
        wire::PersistMessage{static_cast<std::uint32_t>(mode) | window << wire::window_shift |
                                 flags_of_request(answer, length),
                             index_, memory_.remote.address + offset, length};
    const bool carries_data = mode == wire::PersistMode::inline_data;
    if (const int code = post_message(slot, memory_.local + offset, carries_data ? length : 0))
        return code;
    next_slot_ = next_slot_ + 1 < limits_.messages.in_flight ? next_slot_ + 1 : 0;
    return count_request();
}

int Lane::gather(std::size_t offset, std::size_t length) {
    if (!gathered_.has_room_for(length))
        if (const int code = send_gathered(Answer::may_wait))
            return code;
    gathered_.add(offset, length);
    return 0;
}

int Lane::send_gathered(Answer answer) {
    bool& is_sent = is_sent_[next_gathered_];
    std::byte* const message = gathered_messages_.get() + next_gathered_ * gathered_.capacity();
    while (!is_sent)
        if (const int code = make_progress())
            return code;
    if (const int code = await_room_for_message())
        return code;
    const auto mode = static_cast<std::uint32_t>(wire::PersistMode::inline_data);
    const wire::PersistMessage first{mode | flags_of_request(answer, gathered_.weight()), index_,
                                     memory_.remote.address, 0};
    const iovec piece{message, gathered_.write(message, first, memory_.local)};
    void* descriptor = nullptr;
    is_sent = false;
    const int code = post([&] {
        return endpoint_.post_send({&piece, 1}, {&descriptor, 1}, FI_COMPLETION, &is_sent);
    });
    if (code != 0)
        return code;
    next_gathered_ = (next_gathered_ + 1) % gathered_places;
    ++in_flight_;
    return count_request();
}

std::uint32_t Lane::processor_flags() const {
    const unsigned number = wait_.shared_processor();
    return tells_processor_ && number <= wire::most_processors ? number << wire::processor_shift
                                                               : 0;
}

// The header in SLOT, and SIZE bytes of data behind it.
inline int Lane::post_message(std::byte* slot, const std::byte* data, std::size_t size) {
    constexpr std::size_t prefix_size = sizeof(wire::PersistMessage);
    if (prefix_size + size <= std::min(limits_.inject_size, slot_size)) {
        std::memcpy(slot + prefix_size, data, size);
        return post([&] { return endpoint_.inject(slot, prefix_size + size); });
    }
    void* const descriptor = buffers_region_.descriptor();
    const std::array<iovec, 2> places{{{slot, prefix_size}, {const_cast<std::byte*>(data), size}}};
    std::array<void*, 2> descriptors{descriptor, memory_.local_descriptor};
    const std::span pieces(places.data(), size == 0 ? 1 : 2);
    return post([&] { return endpoint_.post_send(pieces, descriptors); });
}

int Lane::wait_for_answers() {
    if (!gathered_.empty()) [[unlikely]]
        if (const int code = send_gathered(Answer::wanted))
            return code;
    if (answered_ < requested_ && last_may_wait_)
        if (const int code = request(wire::PersistMode::persist_written, 0, 0, Answer::wanted))
            return code;
    while (answered_ < requested_)
        if (const int code = make_progress())
            return code;
    return 0;
}

int Lane::wait_for_operations() {
    while (in_flight_ > 0)
        if (const int code = make_progress())
            return code;
    return 0;
}

int Lane::start_read(std::byte* destination, std::size_t size, void* descriptor,
                     std::uint64_t address, bool* done) {
    const int code = post([&] {
        return endpoint_.post_read(destination, size, descriptor, {address, memory_.remote.key},
                                   done);
    });
    if (code == 0)
        ++in_flight_;
    return code;
}

} // namespace rpmem
