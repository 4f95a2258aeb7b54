// SPDX-License-Identifier: BSD-3-Clause
// Tests the real daemon with valid requests in a wrong order, and with what follows valid ones. The
// test fails if a request at the wrong time is granted, if the session does not end as it must, if
// it removes a pool that the initiator has closed, or if a part that existed before CREATE is
// changed or removed.
#include "tests/hostile/hostile_session.hpp"

namespace rpmem::hostile {
namespace {

using wire::MessageType;
using wire::Status;

using Order = HostileTest;

class ExistingParts : public HostileTest {
protected:
    void survive(wire::CreateRequest create);
};

wire::Bytes close_request(bool remove = false) { return encode(wire::CloseRequest{remove}); }
wire::Bytes set_attributes_request(const rpmem_pool_attr& attributes = test_attributes()) {
    return encode(wire::SetAttributesRequest{attributes});
}

TEST_F(Order, SetAttributesFirst) {
    expect_refusal(session(set_attributes_request(), Input::left_open), MessageType::set_attributes,
                   Status::bad_protocol, 1, "SET_ATTR");
}

// A client of protocol 0.1 has agreed on nothing.
TEST_F(Order, ReplicaStateWithoutAHello) {
    const auto set = encode(wire::SetReplicaStateRequest{wire::ReplicaState::catching_up});
    for (const auto& before : {wire::Bytes(), encode(open_request())}) {
        const auto end = session(joined({before, set}), Input::left_open);
        EXPECT_EQ(end.responses.size(), before.empty() ? 1U : 2U);
        expect_refusal(end, MessageType::set_replica_state, Status::bad_protocol, 1,
                       "SET_REPLICA_STATE was sent, but the ends did not agree");
    }
}

TEST_F(Order, CloseFirst) {
    for (const bool remove : {false, true})
        expect_refusal(session(close_request(remove), Input::left_open), MessageType::close,
                       Status::fatal, 0, "CLOSE");
}

TEST_F(Order, ASecondPool) {
    const auto create = encode(create_request());
    const auto open = encode(open_request());
    for (const auto& [first, second, type] : {std::tuple(create, create, MessageType::create),
                                              std::tuple(create, open, MessageType::open),
                                              std::tuple(open, create, MessageType::create),
                                              std::tuple(open, open, MessageType::open)}) {
        const auto end = session(joined({first, second}), Input::left_open);
        EXPECT_EQ(end.responses.size(), 2U);
        expect_refusal(end, type, Status::fatal, 0, "CREATE or OPEN was sent again");
    }
}

TEST_F(Order, CreateOfAnExistingPool) {
    expect_refusal(session(encode(create_request(existing_pool)), Input::left_open),
                   MessageType::create, Status::exists, 0, existing_pool);
}

TEST_F(Order, OpenOfAnAbsentPool) {
    expect_refusal(session(encode(open_request(absent_pool)), Input::left_open), MessageType::open,
                   Status::not_found, 0, absent_pool);
}

TEST_F(Order, ResponsesInsteadOfRequests) {
    for (const auto& message :
         {encode(wire::CreateResponse{}), encode(wire::OpenResponse{}),
          encode(wire::CloseResponse{}), encode(wire::SetAttributesResponse{}),
          encode(wire::SetReplicaStateResponse{})})
        expect_hang_up(session(message, Input::left_open), "type field is 0");
}

TEST_F(Order, BytesAfterCloseAreNotLookedAt) {
    const auto end =
        session(joined({encode(open_request()), close_request(), encode(create_request())}));
    ASSERT_EQ(end.responses.size(), 2U);
    EXPECT_EQ(end.responses[1].status, Status::success);
    EXPECT_EQ(end.ending.status, 0);
}

TEST_F(Order, CreateAndCloseWithRemove) {
    const auto end =
        session(joined({encode(create_request()), close_request(true)}), Input::left_open);
    ASSERT_EQ(end.responses.size(), 2U);
    EXPECT_EQ(end.responses[1].status, Status::success) << end.log;
    EXPECT_EQ(end.ending.status, 0);
}

// CLOSE shows that the initiator has the pool, so it stays, although no lane connected.
TEST_F(Order, CreateAndCloseKeepsThePool) {
    const auto end = session_that_may_write(joined({encode(create_request()), close_request()}),
                                            Input::left_open);
    ASSERT_EQ(end.responses.size(), 2U);
    EXPECT_EQ(end.responses[1].status, Status::success) << end.log;
    EXPECT_EQ(end.ending.status, 0);
    for (const char* part : {"absent.set.0", "absent.set.1"})
        EXPECT_EQ(directory_.read_part(part).size(), part_size) << part;
    expect_granted(session_that_may_write(encode(open_request(absent_pool)), Input::closed),
                   MessageType::open);
}

// With SSH_ORIGINAL_COMMAND the daemon runs as the forced command of a key. Without --allow-remove
// that may only delete a pool in the session that created it.
TEST_F(Order, CloseOfAForcedCommandDeletesWhatItMadeOnly) {
    ::setenv("SSH_ORIGINAL_COMMAND", "rpmemd", 1);
    const auto opened =
        session(joined({encode(open_request()), close_request(true)}), Input::left_open);
    ASSERT_EQ(opened.responses.size(), 2U) << opened.log;
    expect_refusal(opened, MessageType::close, Status::no_access, 0, "--allow-remove");
    const auto made =
        session(joined({encode(create_request()), close_request(true)}), Input::left_open);
    ::unsetenv("SSH_ORIGINAL_COMMAND");
    ASSERT_EQ(made.responses.size(), 2U) << made.log;
    EXPECT_EQ(made.responses[1].status, Status::success) << made.log;
}

TEST_F(Order, GarbageAfterAGoodCreate) {
    const auto end = session(joined({encode(create_request()), wire::Bytes(64, std::byte{0xa5})}),
                             Input::left_open);
    EXPECT_EQ(end.responses.size(), 1U);
    EXPECT_EQ(end.ending.status, 1);
    EXPECT_TRUE(test::contains(end.log, "type field is 2779096485"));
}

TEST_F(Order, RefusedAttributesChangeNothing) {
    const auto end =
        session(joined({encode(open_request()), set_attributes_request({}), close_request()}));
    ASSERT_EQ(end.responses.size(), 3U) << end.log;
    EXPECT_EQ(end.responses[1].status, Status::pool_configuration);
    EXPECT_EQ(end.responses[2].status, Status::success);
    EXPECT_EQ(end.ending.status, 0);
}

TEST_F(Order, AttributesAreWholeWhenTheInputEnds) {
    auto attributes = test_attributes();
    std::fill(std::begin(attributes.poolset_uuid), std::end(attributes.poolset_uuid), 0xee);
    const auto end = session_that_may_write(
        joined({encode(open_request()), set_attributes_request(attributes)}), Input::closed);
    ASSERT_EQ(end.responses.size(), 2U) << end.log;
    EXPECT_EQ(end.responses[1].status, Status::success);
    EXPECT_EQ(end.ending.status, 1);
    for (const char* part : {"existing.set.0", "existing.set.1"})
        EXPECT_EQ(directory_.read_part(part).substr(24, 16), std::string(16, '\xee')) << part;
    const auto opened = session_that_may_write(encode(open_request()), Input::closed);
    expect_granted(opened, MessageType::open); // an open checks headers and checksums
}

TEST_F(Order, ManySetAttributes) {
    wire::Bytes messages = encode(open_request());
    for (int count = 0; count < 500; ++count)
        messages = joined({messages, set_attributes_request({})});
    const auto end = session(messages);
    EXPECT_EQ(end.responses.size(), 501U);
    EXPECT_EQ(end.ending.status, 1);
}

// Parts may exist before CREATE. They must stay unchanged, however the session ends.
void ExistingParts::survive(wire::CreateRequest create) {
    expect_granted(session(encode(create), Input::closed_after_first_answer), MessageType::create);
    const auto twice = session(joined({encode(create), encode(create)}), Input::left_open);
    expect_refusal(twice, MessageType::create, Status::fatal, 0, "CREATE or OPEN was sent again");
    const auto removed = session(joined({encode(create), close_request(true)}), Input::left_open);
    EXPECT_EQ(removed.responses.size(), 2U) << removed.log;
    create.provider = wire::Provider::verbs; // refused without an RDMA device
    (void)session(encode(create), Input::closed_after_first_answer);
}

TEST_F(ExistingParts, OfAPoolWithoutHeadersSurvive) {
    auto create = create_request(plain_pool);
    create.attributes = {};
    survive(create);
}

TEST_F(ExistingParts, WithABlankHeaderSurvive) { survive(create_request(blank_pool)); }

} // namespace
} // namespace rpmem::hostile
