// SPDX-License-Identifier: BSD-3-Clause
// A Receiver that stores all frames and payloads that arrive, for the tests of connections. It
// fails the test if the chunks of a payload have a gap, or if a chunk ends within a word of the
// pool.
#pragma once

#include "common/transport/transport.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::transport {

using Buffer = std::vector<std::byte>;

inline Buffer counted(std::size_t size, int seed = 7) {
    Buffer bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(i * static_cast<std::size_t>(seed) + i / 251);
    return bytes;
}

class Collector : public Receiver {
public:
    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override {
        if (header.type == refused) {
            why = "sent what nobody wants";
            return false;
        }
        payload_.clear();
        if (header.type == wire::FrameType::data) {
            payload_.resize(header.length);
            place = payload_;
        }
        return true;
    }
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override {
        EXPECT_EQ(position, payload_.size());
        const bool is_last = position + chunk.size() == header.length;
        EXPECT_TRUE(is_last || (header.offset + position + chunk.size()) % 8 == 0)
            << "a word of the pool is cut";
        payload_.insert(payload_.end(), chunk.begin(), chunk.end());
    }
    bool end(const wire::FrameHeader& header, std::string&) override {
        headers.push_back(header);
        payloads.push_back(payload_);
        return true;
    }

    wire::FrameType refused{};
    std::vector<wire::FrameHeader> headers;
    std::vector<Buffer> payloads;

private:
    Buffer payload_;
};

} // namespace rpmem::transport
