// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/replica/equalizer.hpp"

#include "common/base/time_text.hpp"
#include "librpmem/readable_memory.hpp"
#include "librpmem/replica/compare_blocks.hpp"
#include "librpmem/replica/progress.hpp"
#include "librpmem/replica/proof.hpp"
#include "librpmem/replica/within.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

namespace rpmem::initiator {
namespace {

using Clock = std::chrono::steady_clock;
using wire::digest_block;

} // namespace

Equalizer::Equalizer(const OpenedPool& pool, const Settings& settings, Log log)
    : memory_(pool.memory), first_writable_(pool.first_writable),
      sender_(pool.memory, pool.first_writable), name_(pool.name), is_created_(pool.is_created),
      equalize_(settings.equalize), file_timeout_(settings.connect_timeout), log_(std::move(log)) {
    if (pool.claim)
        record_file_.emplace(settings.state_home, pool.claim->id);
    if (!pool.state)
        return;
    target_ = *pool.state;
    record_file_.emplace(settings.state_home, target_.id);
    const bool is_whole = holds_whole_pool(pool, settings);
    report_if_behind(is_whole);
    if (!is_whole)
        return;
    look_at_machine();
    if (equalize_ == Equalize::no)
        return;
    is_unknown_source_ =
        settings.on_loss == OnLoss::alone && !pool.is_created && !image_ && !may_send();
    set_state(State::pending);
}

// A pool of libpmemobj is whole: the library maps all of it. With other memory, RPMEM_EQUALIZE=yes
// states that.
bool Equalizer::holds_whole_pool(const OpenedPool& pool, const Settings& settings) {
    const std::size_t first_bytes = std::min(memory_.size(), digest_block);
    if (is_readable(memory_.first(first_bytes)))
        image_ = pool_image(memory_);
    if (image_ && std::memcmp(image_->poolset_uuid.data(), pool.attributes.poolset_uuid,
                              image_->poolset_uuid.size()) != 0)
        image_.reset();
    return image_ || settings.equalize == Equalize::yes;
}

Equalizer::EarlierCalls Equalizer::earlier_calls() const {
    if (!is_catching_up() && !may_lack_calls())
        return EarlierCalls::present;
    const State now = state_.load();
    if (now == State::pending)
        return EarlierCalls::pending;
    return now == State::done && is_equal_ ? EarlierCalls::present : EarlierCalls::missing;
}

// The default log level shows what an operator has to do, and what may delay a call.
void Equalizer::report_if_behind(bool is_whole) const {
    if (!must_compare())
        return;
    const std::string since =
        describe_time(is_catching_up() ? target_.catching_up_since : target_.behind_since);
    const std::string problem =
        is_catching_up()
            ? fmt::format("{}: the replica is inconsistent, because it was catching up since {}",
                          name_, since)
            : fmt::format(
                  "{}: the replica may be behind since {}, because a session was not closed, "
                  "or another program has changed it",
                  name_, since);
    if (is_whole && equalize_ != Equalize::no)
        log_.warning("{}; the first call that writes compares it with the memory of this process",
                     problem);
    else
        log_.error("{}. It is not compared, because {}. Make it equal to its source with rpmemctl "
                   "push",
                   problem,
                   equalize_ == Equalize::no
                       ? "RPMEM_EQUALIZE=no"
                       : "the memory of this process is not known to hold the whole pool "
                         "(RPMEM_EQUALIZE=yes states that)");
}

Result<> Equalizer::may_open() const {
    if ((!is_catching_up() && !may_lack_calls()) || equalize_ == Equalize::no ||
        (is_pending() && may_send()))
        return {};
    const std::string why = is_pending()
                                ? *missing_proof_
                                : "the memory of this process is not known to hold the whole pool";
    if (is_catching_up())
        return fail(ErrorClass::target_refused, ESTALE,
                    "the replica is inconsistent, because it was catching up since {}; {}. Run the "
                    "program with which it was catching up again, make the replica equal to its "
                    "source with rpmemctl push, or accept it as it is with rpmemctl accept",
                    describe_time(target_.catching_up_since), why);
    return fail(ErrorClass::target_refused, ESTALE,
                "the replica may lack calls that returned 0, because the session that began {} "
                "could go on without it (RPMEM_ON_LOSS=alone) and was not closed; {}. Run the "
                "program of that session again, make the replica equal to its source with rpmemctl "
                "push, or accept it as it is with rpmemctl accept",
                describe_time(target_.alone_since), why);
}

Result<> Equalizer::check_accepted() const {
    if (!is_pending() || is_read_into_ || recorded_epoch_ == 0 ||
        recorded_epoch_ >= target_.accepted_epoch)
        return {};
    return fail(ErrorClass::target_refused, ESTALE,
                "an operator of the target has accepted its copy as it was (rpmemctl accept or "
                "take, epoch {}), and the memory of this process is that of epoch {}. Get the "
                "accepted bytes with rpmemctl pull, or make the replica equal to this machine with "
                "rpmemctl push, both as the user of this program",
                target_.accepted_epoch, recorded_epoch_);
}

// With a proof, the record gets the epoch of this session at once, beside the one that was proved.
// The next session needs the former if this process is killed after it has connected a lane, and
// the latter if it is killed before.
void Equalizer::look_at_machine() {
    struct Found {
        std::vector<LocalFile> files;
        std::optional<InitiatorRecord> record;
        std::optional<Error> later_format;
    };
    auto found = within(file_timeout_, [file = *record_file_, memory = memory_]() -> Result<Found> {
        Found both;
        RPMEM_ASSIGN(both.files, local_files(memory));
        auto record = file.read();
        if (!record && record.error().code == ENOTSUP)
            both.later_format = record.error();
        else if (!record)
            return Failure(record.error());
        else
            both.record = std::move(*record);
        return both;
    });
    if (!found) {
        missing_proof_ = record_problem_ = found.error().text;
        has_record_ = true; // unknown, so assume one
        return;
    }
    files_ = std::move(found->files);
    has_record_ = found->record.has_value();
    if (found->later_format)
        return keep_later_format(*found->later_format);
    if (found->record && are_same_files(found->record->files, files_))
        recorded_epoch_ = std::max(found->record->epoch, found->record->opened_epoch);
    missing_proof_ = missing_proof(target_, found->record, files_);
    if (may_send())
        store_record({target_.id, target_.last_epoch, target_.epoch, found->record->files,
                      found->record->attributes});
}

// A later version may have stored more than this one knows. It will find that the epoch of its
// record is not the last one, and send nothing.
void Equalizer::keep_later_format(const Error& error) {
    missing_proof_ = record_problem_ = error.text;
    has_record_ = is_later_format_ = true;
    log_.warning("{}: the record of this machine is kept as it is, and this session has none: {}; "
                 "use the version that has written it, or a later one",
                 name_, error.text);
}

// A write that takes too long may still replace the file later, so the file can no longer be
// erased.
void Equalizer::store_record(const InitiatorRecord& record) {
    record_ = record;
    const auto stored =
        within(file_timeout_, [file = *record_file_, record] { return file.write(record); });
    record_problem_ = stored ? std::string() : stored.error().text;
    is_write_unfinished_ = is_write_unfinished_ || (!stored && stored.error().code == ETIMEDOUT);
    if (!stored)
        log_.warning("{}: if this session is lost, a later one cannot prove that it may make the "
                     "replica equal: {}",
                     name_, stored.error().text);
}

int Equalizer::read_run_id(FrameLane& lane) {
    std::uint64_t run_id = 0;
    if (!image_ || run_id_of_replica_)
        return 0;
    if (const int code =
            lane.read(reinterpret_cast<std::byte*>(&run_id), place_of_run_id, sizeof(run_id)))
        return code;
    run_id_of_replica_ = run_id;
    if (is_older_copy())
        missing_proof_ = fmt::format("the program has opened the replica more often than the "
                                     "memory of this process (run ID {}, here {}), which must come "
                                     "from an older copy",
                                     run_id, image_->run_id);
    if (is_older_replica() && target_.behind_since == 0)
        log_.error("{}: the replica lacks whole runs of the program (run ID {}, here {}), perhaps "
                   "because its parts were restored from a backup; it is compared with the memory "
                   "of this process",
                   name_, run_id, image_->run_id);
    return 0;
}

int Equalizer::compare(FrameLane& lane) {
    sender_.clear_failure();
    if (const int code = read_run_id(lane))
        return code;
    if (must_compare() && compared_ == 0) {
        differing_ = BlockMap(memory_.size());
        began_ = logged_ = Clock::now();
        data_ = look_for_data(memory_, file_timeout_);
        log_.info("{}: comparing {} with the replica, of which {} may have data here", name_,
                  amount(differing_.blocks()),
                  amount(data_.blocks.blocks() > 0 ? data_.blocks.count() : differing_.blocks()));
    }
    while (compared_ < differing_.blocks() && !failure()) {
        log_progress("compared", compared_);
        const int code = compared_ == 0 ? compare_first_block(lane)
                                        : compare_next(lane, sender_, {memory_, data_}, compared_,
                                                       differing_, overwrites_);
        if (code != 0)
            return code;
    }
    trust_memory_of_fresh_replica();
    return 0;
}

// A replica that no session has written to, as rpmemctl create makes it, has nothing to lose. The
// program has stored to its memory before its first call, so they differ. With the record, the next
// session continues if this one is killed while it sends.
void Equalizer::trust_memory_of_fresh_replica() {
    if (!is_unknown_source_ || target_.last_epoch != 0 || overwrites_ || failure() ||
        files_.empty() || is_read_into_ || is_later_format_)
        return;
    missing_proof_.reset();
    store_record({target_.id, target_.epoch, target_.epoch, files_});
}

// The target keeps the header itself, so the digest of the first block may always differ.
int Equalizer::compare_first_block(FrameLane& lane) {
    const std::span<std::byte> copy = sender_.copy(0, 0);
    if (copy.empty())
        return 0;
    const std::span<std::byte> ours = copy.subspan(first_writable_);
    const std::span theirs(sender_.copies() + digest_block, ours.size());
    if (const int code = lane.read(theirs.data(), first_writable_, theirs.size()))
        return code;
    if (!std::ranges::equal(ours, theirs)) {
        differing_.mark(0, 1);
        overwrites_ =
            std::ranges::any_of(theirs, [](std::byte byte) { return byte != std::byte(); });
    }
    compared_ = 1;
    return 0;
}

int Equalizer::send(FrameLane& lane) {
    BlockPass pass(sender_, lane, differing_);
    for (std::size_t next = 0; differs() && !failure();) {
        log_progress("sent", sent_);
        if (const int code = pass.send_next(next, sent_))
            return code;
    }
    if (const int code = pass.finish(sent_))
        return code;
    return failure() ? 0 : sender_.send_first_page(lane);
}

void Equalizer::log_progress(const char* what, std::size_t done) {
    const auto now = Clock::now();
    if (now - logged_ < progress_interval)
        return;
    logged_ = now;
    log_.warning("{}: the first write waits until the replica is compared and equal: {} of {} {}",
                 name_, amount(done), amount(differing_.blocks()), what);
}

void Equalizer::finish() {
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_).count();
    if (must_compare() && differs()) {
        log_.error(
            "{}: {} of {} differ from the replica, which may be behind or ahead. Nothing was "
            "sent, because {}. Compare with rpmemctl verify, then run rpmemctl push if this "
            "machine has the right bytes, or rpmemctl pull if the replica has them",
            name_, amount(differing_.count()), amount(differing_.blocks()), *missing_proof_);
        if (!is_unknown_source_) // its record may be that of the source
            forget();
    } else if (is_older_copy()) {
        log_.error(
            "{}: {}. The program writes to a newer replica. Stop it, and run rpmemctl verify",
            name_, *missing_proof_);
        forget();
    } else {
        if (must_compare())
            log_.warning("{}: the replica is equal again: {} of {} were sent in {} ms", name_,
                         amount(sent_), amount(differing_.blocks()), took);
        store_present_record();
        is_equal_ = true;
    }
    set_done();
}

void Equalizer::set_done() {
    sender_.release();
    differing_ = {};
    data_ = {};
    set_state(State::done);
}

bool Equalizer::may_hand_over(FrameLane& lane, int& code) {
    if (!must_compare() || !may_send())
        return false;
    code = read_run_id(lane);
    if (code != 0 || !may_send())
        return false;
    store_present_record();
    return record_problem_.empty();
}

void Equalizer::hand_over() {
    is_equal_ = true;
    set_done();
}

// A pool that is not behind may still be newer than this memory: another machine may have written
// to it. The run ID of libpmemobj shows that. For other memory, a record that proves nothing is not
// replaced.
void Equalizer::store_present_record() {
    if (is_later_format_ || (!may_send() && !must_compare() && !image_ && has_record_))
        return;
    auto files = within(file_timeout_, [memory = memory_] { return local_files(memory); });
    if (!files)
        record_problem_ = files.error().text;
    else if (!is_read_into_)
        store_record({target_.id, target_.epoch, target_.epoch, std::move(*files)});
}

bool Equalizer::allows_alone() const {
    const std::string why = why_not_alone();
    if (!why.empty())
        log_not_alone(why);
    return why.empty();
}

void Equalizer::log_not_alone(const std::string& why) const {
    log_.error("{}: RPMEM_ON_LOSS=alone has no effect, and calls fail as with fail: {}", name_,
               why);
}

std::string Equalizer::why_not_alone() const {
    if (equalize_ == Equalize::no)
        return "RPMEM_EQUALIZE=no";
    if (state_.load() == State::off)
        return "the memory of this process is not known to hold the whole pool "
               "(RPMEM_EQUALIZE=yes states that)";
    if (is_pending())
        return {};
    if (!is_equal_)
        return "the replica differs from the memory of this process";
    if (!record_problem_.empty())
        return "a later session could not prove that its memory is the source: " + record_problem_;
    return {};
}

} // namespace rpmem::initiator
