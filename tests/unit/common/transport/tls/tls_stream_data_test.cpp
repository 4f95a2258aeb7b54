// SPDX-License-Identifier: BSD-3-Clause
// Tests how TlsStream sends and receives data after the handshake, between two ends of the product.
// The test fails if bytes are lost or changed, if bytes that change during a send break a record,
// if an end without close_notify or a falsified record is accepted, or if received bytes stay in
// the stream unnoticed.
#include "tests/unit/common/transport/tls/tls_ends.hpp"

#include <poll.h>
#include <sys/socket.h>

namespace rpmem::transport::tls_ends {
namespace {

bool is_readable(int fd) {
    pollfd one{fd, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

TEST(TlsData, BytesOfAllSizesGoBothWaysAlsoOneAtATime) {
    for (const std::size_t step : {0U, 1U}) {
        const Ends ends = joined(step);
        EXPECT_EQ(ends.initiator->exporter(), ends.target->exporter());
        for (const std::size_t size : {1U, 32U, 16384U, 16385U, step == 0 ? 1U << 20 : 40000U}) {
            SCOPED_TRACE(size);
            EXPECT_TRUE(carry(*ends.initiator, *ends.target, counted(size)) == counted(size));
            EXPECT_TRUE(carry(*ends.target, *ends.initiator, counted(size)) == counted(size));
        }
    }
}

TEST(TlsData, PiecesAreGatheredInRecordsAndComeIntoSeveralPlaces) {
    const Ends ends = joined();
    const Buffer bytes = counted(65536 + 100);
    const std::array<iovec, 4> pieces{
        iovec_at(std::span(bytes).first(32)), iovec_at(std::span(bytes).subspan(32, 0)),
        iovec_at(std::span(bytes).subspan(32, 4096)), iovec_at(std::span(bytes).subspan(4128))};
    EXPECT_EQ(ends.initiator->send(pieces, false), 65536) << "as many records as go by one call";
    EXPECT_EQ(ends.initiator->send(std::span(pieces).first(2), false), 32);
    Buffer received(65536 + 32 + 1);
    const std::array<iovec, 3> places{iovec_at(std::span(received).first(7)),
                                      iovec_at(std::span(received).subspan(7, 9000)),
                                      iovec_at(std::span(received).subspan(9007))};
    EXPECT_EQ(ends.target->receive(places), 65536 + 32);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 65536, received.begin()));
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 32, received.begin() + 65536));
    EXPECT_EQ(ends.target->receive(places), -EAGAIN);
}

// Other threads may write to the pool at any time. The peer must still be able to decrypt each
// record, and get values that the bytes had.
TEST(TlsData, BytesMayChangeWhileTheyAreSent) {
    auto pair = test::value_of(make_socket_pair());
    auto narrow =
        std::make_unique<Narrow>(std::make_unique<SocketStream>(std::move(pair.ours)), 999);
    Narrow& below = *narrow;
    const Ends ends{
        tls_on(TlsRole::initiator, psk(), std::move(narrow)),
        tls_on(TlsRole::target, psk(), std::make_unique<SocketStream>(std::move(pair.theirs)))};
    ASSERT_TRUE(exchange_hello(ends));
    Buffer pool = counted(20000);
    below.before_send = [&pool] {
        for (std::byte& byte : pool)
            byte ^= std::byte{0xff};
    };
    const Buffer before = pool;
    EXPECT_EQ(send_one(*ends.initiator, pool), 20000);
    EXPECT_TRUE(ends.initiator->pending());
    EXPECT_EQ(send_one(*ends.initiator, pool), -EAGAIN);
    Buffer received;
    for (int i = 0; i < 1000 && received.size() < 20000; ++i) {
        Buffer none;
        EXPECT_EQ(receive_all(*ends.initiator, none), EAGAIN) << "this sends what is pending";
        EXPECT_EQ(receive_all(*ends.target, received), EAGAIN);
    }
    EXPECT_FALSE(ends.initiator->pending());
    EXPECT_TRUE(std::equal(received.begin(), received.end(), before.begin()));
    EXPECT_EQ(received.size(), 20000U);
}

// The socket is not readable for bytes that the stream has already received, so poll(2) would
// sleep.
TEST(TlsData, WhatIsKeptCanBeHadWithoutTheNetwork) {
    const Ends ends = joined();
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(send_one(*ends.initiator, counted(5000)), 5000);
    Buffer received(5001);
    EXPECT_EQ(receive_one(*ends.target, received), 5001);
    EXPECT_FALSE(is_readable(ends.target->fd()));
    Buffer rest(20000);
    const iovec many = iovec_at(rest);
    ASSERT_EQ(send_one(*ends.initiator, counted(10)), 10);
    EXPECT_EQ(ends.target->receive_kept(std::span(&many, 1)), 9999);
    EXPECT_EQ(ends.target->receive_kept(std::span(&many, 1)), -EAGAIN);
    EXPECT_TRUE(is_readable(ends.target->fd())) << "it was not asked";
}

// After a receive that returns less than the place has room for, the socket is empty.
TEST(TlsData, AShortReceiveHasTakenAllThatWasThere) {
    const Ends ends = joined();
    for (int i = 0; i < 5; ++i)
        ASSERT_EQ(send_one(*ends.initiator, counted(16384)), 16384);
    EXPECT_EQ(receive_one(*ends.target, Buffer(std::size_t{1} << 20)), 5 * 16384);
    EXPECT_FALSE(is_readable(ends.target->fd()));
}

TEST(TlsData, ACloseNotifyIsTheEnd) {
    const Ends ends = joined();
    ASSERT_EQ(send_one(*ends.initiator, counted(10)), 10);
    ends.initiator->finish();
    EXPECT_FALSE(ends.initiator->pending());
    Buffer received;
    EXPECT_EQ(receive_all(*ends.target, received), 0);
    EXPECT_EQ(received.size(), 10U);
    EXPECT_EQ(carry(*ends.target, *ends.initiator, counted(10)).size(), 10U)
        << "the other direction goes on";
    ends.target->finish();
    EXPECT_EQ(receive_all(*ends.initiator, received), 0);
}

TEST(TlsData, TheEndComesBehindWhatIsPending) {
    const Ends ends = joined(100);
    ASSERT_EQ(send_one(*ends.initiator, counted(5000)), 5000);
    ends.initiator->finish();
    EXPECT_TRUE(ends.initiator->pending());
    Buffer received;
    Buffer none;
    int code = EAGAIN;
    for (int i = 0; i < 1000 && code == EAGAIN; ++i) {
        EXPECT_EQ(receive_all(*ends.initiator, none), EAGAIN);
        code = receive_all(*ends.target, received);
    }
    EXPECT_EQ(code, 0);
    EXPECT_EQ(received, counted(5000));
    EXPECT_FALSE(ends.initiator->pending());
}

TEST(TlsData, AnEndWithoutCloseNotifyIsALoss) {
    const Ends ends = joined();
    ASSERT_EQ(send_one(*ends.initiator, counted(10)), 10);
    ASSERT_EQ(::shutdown(ends.initiator->fd(), SHUT_WR), 0);
    Buffer received;
    EXPECT_EQ(receive_all(*ends.target, received), ECONNRESET);
    EXPECT_EQ(received.size(), 10U);
    EXPECT_EQ(ends.target->reason(), "the connection ended without close_notify");
}

TEST(TlsData, ASendToAPeerThatHasGoneRaisesNoSignal) {
    const Ends ends = joined();
    ends.target->reset();
    EXPECT_EQ(send_one(*ends.initiator, counted(10)), 10) << "it was taken";
    EXPECT_EQ(send_one(*ends.initiator, counted(10)), -EPIPE);
    EXPECT_FALSE(ends.initiator->pending()) << "nobody waits for room";
}

// A byte is changed in transit. The record before it is still delivered.
TEST(TlsData, FalsifiedBytesAreRefused) {
    const Ends ends = joined();
    ASSERT_EQ(send_one(*ends.initiator, counted(100)), 100);
    ASSERT_EQ(send_one(*ends.initiator, counted(100)), 100);
    Buffer stream(2 * (100 + record_overhead));
    ASSERT_EQ(::read(ends.target->fd(), stream.data(), stream.size()), ssize_t(stream.size()));
    stream[180] ^= std::byte{1};
    ASSERT_TRUE(ends.target->give(stream));
    Buffer received;
    EXPECT_EQ(receive_all(*ends.target, received), EPROTO);
    EXPECT_EQ(received, counted(100));
    EXPECT_TRUE(test::contains(ends.target->reason(), "bad record mac"));
    EXPECT_EQ(receive_all(*ends.initiator, received), EPROTO) << "the peer is told";
    EXPECT_EQ(ends.initiator->error().text,
              "TLS with lane 3 of 10.0.0.1 port 999: the peer ended it, with the alert \"bad "
              "record mac\"");
    EXPECT_EQ(send_one(*ends.target, counted(100)), -EPROTO);
}

TEST(TlsData, BytesOfAStrangerBehindTheHandshakeAreRefused) {
    const Ends ends = joined();
    ASSERT_EQ(::send(ends.initiator->fd(), counted(100).data(), 100, 0), 100);
    Buffer received;
    EXPECT_EQ(receive_all(*ends.target, received), EPROTO);
    EXPECT_TRUE(received.empty());
    EXPECT_EQ(receive_all(*ends.initiator, received), EPROTO) << "who is honest is told";
}

} // namespace
} // namespace rpmem::transport::tls_ends
