// SPDX-License-Identifier: BSD-3-Clause
// Tests what the equalizer decides when a pool is opened: whether the first write has to compare,
// whether it may send, and who may open a replica that is catching up. The memory is a real mapping
// of a real file, and the record is a real file. tests/clients/equalize.sh tests the rest with a
// real target. The tests fail if a session may send without the record of an earlier one.
#include "common/base/unique_fd.hpp"
#include "librpmem/replica/equalizer.hpp"
#include "librpmem/replica/kept_attributes.hpp"
#include "rpmemd/pools/headers/pool_header.hpp"
#include "tests/support/expect.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <fstream>

namespace rpmem::initiator {
namespace {

constexpr std::size_t size = std::size_t{2} << 20;

class EqualizerTest : public testing::Test {
protected:
    EqualizerTest() {
        attributes_.major = 6;
        std::memcpy(attributes_.signature, "PMEMOBJ", 8);
        attributes_.poolset_uuid[0] = 42;
        const std::string path = directory_.path() / "pool";
        std::ofstream(path).close();
        std::filesystem::resize_file(path, size);
        const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        memory_ = static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
        const target::Uuid uuid = target::random_uuid();
        const auto headers = target::build_headers(attributes_, {&uuid, 1}, 1);
        std::memcpy(memory_, headers.data(), sizeof(headers[0]));
        settings_.connect_timeout = std::chrono::seconds(30);
        settings_.state_home = directory_.path() / "state";
    }
    ~EqualizerTest() override { ::munmap(memory_, size); }

    // Opens the pool in a session of epoch LAST + 1. LAST is the epoch that has written before.
    std::unique_ptr<Equalizer> open(std::uint64_t last, std::int64_t behind_since = 0,
                                    std::int64_t catching_up_since = 0, bool is_created = false) {
        return std::make_unique<Equalizer>(
            OpenedPool{.memory = {memory_, size},
                       .first_writable = 4096,
                       .attributes = attributes_,
                       .name = "pool",
                       .is_created = is_created,
                       .state = wire::PoolState{.id = {std::byte{7}},
                                                .epoch = last + 1,
                                                .last_epoch = last,
                                                .behind_since = behind_since,
                                                .catching_up_since = catching_up_since}},
            settings_, Log());
    }

    test::TemporaryDirectory directory_;
    rpmem_pool_attr attributes_{};
    Settings settings_{};
    std::byte* memory_;
};

TEST_F(EqualizerTest, OnlyASessionAfterOneThatWroteMaySend) {
    auto first = open(4);
    EXPECT_TRUE(first->is_pending());
    EXPECT_FALSE(first->must_compare());
    EXPECT_FALSE(first->may_send());
    first->finish();
    EXPECT_FALSE(first->is_pending());
    EXPECT_TRUE(open(5, 1)->may_send()) << "the session before has written";
    EXPECT_TRUE(open(5, 1)->must_compare());
    EXPECT_TRUE(open(6, 1)->may_send()) << "it was opened with a proof, and has not written";
    EXPECT_TRUE(open(6, 1)->may_send()) << "the one before connected no lane";
    EXPECT_FALSE(open(9, 1)->may_send()) << "another session has written since";
}

TEST_F(EqualizerTest, OtherMemoryIsNotCompared) {
    settings_.equalize = Equalize::no;
    EXPECT_FALSE(open(4, 1)->is_pending());
    settings_.equalize = Equalize::automatic;
    attributes_.poolset_uuid[0] = 43;
    EXPECT_FALSE(open(4, 1)->is_pending()) << "the header is that of another pool";
    std::memset(memory_, 0, 4096);
    EXPECT_FALSE(open(4, 1)->is_pending()) << "there is no header";
    settings_.equalize = Equalize::yes;
    EXPECT_TRUE(open(4, 1)->is_pending()) << "the user states that the memory is whole";
}

// The user states that other memory than libpmemobj's is whole, but not that it is the newer side.
TEST_F(EqualizerTest, ARecordThatProvesNothingIsReplacedOnlyForLibpmemobj) {
    settings_.equalize = Equalize::yes;
    std::memset(memory_, 0, 4096);
    open(4)->finish(); // the first record
    EXPECT_TRUE(open(5, 1)->may_send());
    open(9)->finish(); // another machine has written since
    EXPECT_FALSE(open(10, 1)->may_send());
}

// A later librpmem may have stored more, such as attributes that its program was told to be kept.
TEST_F(EqualizerTest, ARecordOfALaterFormatProvesNothingAndIsKept) {
    open(4)->finish();
    const std::string path = InitiatorRecordFile(settings_.state_home, {std::byte{7}}).path();
    const std::string later = "version 2\nwhatever follows\n";
    std::ofstream(path) << later;
    for (const std::int64_t behind_since : {0, 1}) {
        const auto session = open(5, behind_since);
        EXPECT_FALSE(session->may_send());
        EXPECT_TRUE(test::failed(session->keep(rpmem_pool_attr{}), ENOTCONN, path));
        EXPECT_TRUE(test::failed(session->keep(rpmem_pool_attr{}), ENOTCONN,
                                 "format is 2, but this librpmem knows formats only up to 1"));
        session->finish();
        EXPECT_FALSE(session->allows_alone()) << "a later session could not prove anything";
        EXPECT_EQ(test::read_file(path), later);
    }
}

TEST_F(EqualizerTest, WithoutAStateHomeNothingIsSent) {
    settings_.state_home.clear();
    open(4)->finish();
    const auto session = open(5, 1);
    EXPECT_TRUE(session->must_compare());
    EXPECT_FALSE(session->may_send());
}

TEST_F(EqualizerTest, AReadIntoTheMemoryEndsTheProof) {
    open(4)->finish();
    std::vector<std::byte> heap(100);
    auto session = open(5, 1);
    EXPECT_TRUE(session->before_read(heap));
    EXPECT_TRUE(session->may_send());
    EXPECT_TRUE(session->before_read({memory_ + size - 1, 1}));
    EXPECT_FALSE(session->may_send());
    session->finish();
    EXPECT_FALSE(open(6, 1)->may_send()) << "the record was written again";
}

// Otherwise a later session would trust memory that holds the bytes of the replica.
TEST_F(EqualizerTest, KeptAttributesDoNotBringAnErasedRecordBack) {
    auto session = open(4);
    session->finish();
    EXPECT_TRUE(session->keep(attributes_));
    EXPECT_TRUE(open(5, 1)->kept_attributes());
    EXPECT_TRUE(session->before_read({memory_, 1}));
    EXPECT_TRUE(test::failed(session->keep(std::nullopt), ENOTCONN, "has read the replica"));
    EXPECT_TRUE(session->forget_attributes()) << "they went with the record";
    EXPECT_FALSE(open(5, 1)->may_send());
}

// The record was erased meanwhile, because the program has read the replica. What is kept in memory
// must go with it.
TEST_F(EqualizerTest, AttributesThatTheTargetHasAreNotSentAgain) {
    auto session = open(4);
    session->finish();
    KeptAttributes kept(*session, Log());
    const auto is_away = [](const rpmem_pool_attr&) {
        return Result<>(fail(ErrorClass::link_lost, ENOTCONN, "away"));
    };
    unsigned sent = 0;
    const auto is_there = [&](const rpmem_pool_attr&) {
        ++sent;
        return Result<>();
    };
    EXPECT_TRUE(kept.set(attributes_, is_away));
    EXPECT_TRUE(test::failed(kept.set(rpmem_pool_attr{}, is_away), EINVAL, "all zero"));
    EXPECT_TRUE(session->before_read({memory_, 1}));
    EXPECT_TRUE(kept.set(attributes_, is_there));
    EXPECT_TRUE(kept.join(is_there, [] { return Result<bool>(true); }));
    EXPECT_EQ(sent, 1U) << "the join has sent older attributes";
    EXPECT_TRUE(test::failed(kept.set(attributes_, is_away), ENOTCONN, "cannot be kept"));
}

// A program that goes on alone sends whole blocks. Nothing but a record or a run ID of libpmemobj
// shows that they are not older than the replica.
TEST_F(EqualizerTest, ASourceThatNothingKnowsIsComparedBeforeItGoesOnAlone) {
    settings_.on_loss = OnLoss::alone;
    EXPECT_FALSE(open(4)->must_compare()) << "it has a run ID";
    std::memset(memory_, 0, 4096);
    settings_.equalize = Equalize::yes;
    EXPECT_FALSE(open(4, 0, 0, true)->must_compare()) << "this session has created the pool";
    EXPECT_TRUE(open(4)->must_compare());
    settings_.on_loss = OnLoss::fail;
    EXPECT_FALSE(open(4)->must_compare());
    open(4)->finish();
    settings_.on_loss = OnLoss::alone;
    EXPECT_FALSE(open(5)->must_compare()) << "its record proves it";
}

TEST_F(EqualizerTest, AReadOfASessionWithoutAWriteEndsTheProofToo) {
    open(4)->finish();
    settings_.equalize = Equalize::no;
    EXPECT_TRUE(open(5, 1)->before_read({memory_, 1}));
    settings_.equalize = Equalize::automatic;
    EXPECT_FALSE(open(5, 1)->may_send());
}

TEST_F(EqualizerTest, AReplicaThatIsCatchingUpIsOpenedByItsSourceOnly) {
    EXPECT_TRUE(test::failed(open(4, 1, 5)->may_open(), ESTALE, "no record"));
    open(4)->finish();
    EXPECT_TRUE(open(5, 1, 5)->may_open());
    EXPECT_TRUE(open(5, 0, 5)->must_compare());
    std::memset(memory_, 0, 4096);
    EXPECT_TRUE(test::failed(open(5, 1, 5)->may_open(), ESTALE, "rpmemctl push"));
    EXPECT_TRUE(open(5, 1)->may_open()) << "a replica that is only behind lacks no call that ended";
    settings_.equalize = Equalize::no;
    EXPECT_TRUE(open(5, 1, 5)->may_open());
}

} // namespace
} // namespace rpmem::initiator
