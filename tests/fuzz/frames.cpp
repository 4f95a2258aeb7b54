// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the frames that a peer sends to either end of a lane. The input selects the frames and the
// pieces in which they arrive. Most headers get a valid checksum, so that the code after the check
// is reached. A range outside of the pool, a wrong chunk, or a result that depends on the pieces
// fails.
#include "common/transport/tcp/frame_connection.hpp"
#include "common/wire/lane_rules.hpp"
#include "tests/fuzz/property.hpp"

#include <memory>

namespace {

using namespace rpmem;
using fuzz::require;

constexpr std::uint64_t pool_size = 64 * 1024;
constexpr wire::LaneTerms terms{
    .credits = {.bytes = 64 * 1024, .payload = 4096, .frames = 16, .reads = 4},
    .pool_size = pool_size,
    .digests = true};

// Delivers the bytes in pieces of STEP bytes.
class Script final : public transport::Stream {
public:
    Script(fuzz::Bytes bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
    ssize_t send(std::span<const iovec> pieces, bool) override {
        ssize_t size = 0;
        for (const iovec& piece : pieces)
            size += static_cast<ssize_t>(piece.iov_len);
        return size;
    }
    ssize_t receive(std::span<const iovec> places) override {
        if (at_ == bytes_.size())
            return 0;
        std::size_t moved = 0;
        for (const iovec& place : places) {
            const std::size_t size = std::min({place.iov_len, step_ - moved, bytes_.size() - at_});
            std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), size,
                        static_cast<std::byte*>(place.iov_base));
            moved += size;
            at_ += size;
        }
        return static_cast<ssize_t>(moved);
    }
    void finish() override {}
    void reset() override {}
    void release_in_child() override {}
    [[nodiscard]] int fd() const override { return -1; }

private:
    fuzz::Bytes bytes_;
    std::size_t step_;
    std::size_t at_ = 0;
};

// The result of one end.
struct Outcome {
    transport::Fault fault = transport::Fault::none;
    std::vector<wire::FrameHeader> frames;
    fuzz::Bytes pool = fuzz::Bytes(pool_size);
};

// Checks the promises of the connection about chunks.
class End : public transport::Receiver {
public:
    void take(const wire::FrameHeader& header, std::size_t position,
              std::span<const std::byte> chunk) override {
        require(position == position_, "chunks follow each other");
        require(chunk.size() <= header.length - position, "there is no more than the header says");
        position_ += chunk.size();
        require(position_ == header.length || (header.offset + position_) % 8 == 0,
                "a chunk ends at a word of the pool");
        if (header.type == wire::FrameType::write)
            std::ranges::copy(chunk, outcome.pool.begin() +
                                         static_cast<std::ptrdiff_t>(header.offset + position));
    }
    Outcome outcome;

protected:
    std::size_t position_ = 0;
};

class TargetEnd final : public End {
public:
    bool begin(const wire::FrameHeader& header, std::span<std::byte>&, std::string& why) override {
        position_ = 0;
        const bool good = requests_.check(header, why);
        require(good == why.empty(), "what is refused has a reason");
        if (good)
            require(header.offset <= pool_size && header.length <= pool_size - header.offset,
                    "a range is within the pool");
        if (good && header.type == wire::FrameType::digest)
            require(header.offset % wire::digest_block == 0 && header.length > 0 &&
                        header.length <= wire::max_digest_range,
                    "digests are of a few whole blocks");
        return good;
    }
    bool end(const wire::FrameHeader& header, std::string&) override {
        outcome.frames.push_back(header);
        requests_.complete(header);
        if (header.type == wire::FrameType::read || header.type == wire::FrameType::digest)
            requests_.answered(wire::answer_of(header));
        else if (requests_.ack_is_due())
            requests_.acknowledged();
        return true;
    }

private:
    wire::RequestRules requests_{terms};
};

class InitiatorEnd final : public End {
public:
    InitiatorEnd() {
        for (int i = 0; i < 3; ++i) {
            static_cast<void>(responses_.add(wire::FrameType::write, 0, 0, 64));
            static_cast<void>(responses_.add(wire::FrameType::read, 0, 64, 100));
        }
        static_cast<void>(responses_.add(wire::FrameType::digest, 0, 0, 100));
    }
    bool begin(const wire::FrameHeader& header, std::span<std::byte>& place,
               std::string& why) override {
        position_ = 0;
        const auto before = responses_.acknowledged();
        const bool good = responses_.check(header, why);
        require(good == why.empty(), "what is refused has a reason");
        require(responses_.acknowledged() >= before &&
                    responses_.acknowledged() <= responses_.last(),
                "acks rise, and are for what was sent");
        if (good && header.type == wire::FrameType::data) {
            const bool is_digest = header.number == responses_.last();
            place = is_digest ? std::span(read_).first(wire::digest_size) : std::span(read_);
            require(header.length == place.size(), "data have the length that was asked for");
        }
        return good;
    }
    bool end(const wire::FrameHeader& header, std::string&) override {
        outcome.frames.push_back(header);
        if (header.type == wire::FrameType::data)
            responses_.read_complete();
        return true;
    }

private:
    wire::ResponseRules responses_{terms};
    std::array<std::byte, 100> read_{};
};

fuzz::Bytes frames_of(fuzz::Input& input) {
    constexpr std::size_t checked = 28;
    fuzz::Bytes stream;
    while (input.left() > 0) {
        const auto kind = input.take_value<std::uint8_t>();
        fuzz::Bytes header = input.take(checked);
        header.resize(checked);
        if ((kind & 1) == 0) { // reserved fields are zero
            for (const std::size_t place : {2U, 3U, 24U, 25U, 26U, 27U})
                header[place] = std::byte{0};
        }
        const std::uint32_t checksum = (kind & 2) == 0 ? wire::crc32c(header) : 0;
        stream.insert(stream.end(), header.begin(), header.end());
        for (unsigned i = 0; i < sizeof(checksum); ++i)
            stream.push_back(static_cast<std::byte>(checksum >> 8 * i));
        const fuzz::Bytes payload = input.take(kind >> 2);
        stream.insert(stream.end(), payload.begin(), payload.end());
    }
    return stream;
}

Outcome run(const fuzz::Bytes& stream, std::size_t step, bool is_target) {
    transport::FrameConnection connection(std::make_unique<Script>(stream, step), "lane");
    fuzz::Bytes buffer(4096);
    connection.receive_in(buffer);
    std::unique_ptr<End> end;
    if (is_target)
        end = std::make_unique<TargetEnd>();
    else
        end = std::make_unique<InitiatorEnd>();
    while (!connection.ended())
        static_cast<void>(connection.poll(*end));
    require(!connection.failure().text.empty(), "a failure has a text");
    end->outcome.fault = connection.failure().fault;
    return end->outcome;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto choice = input.take_value<std::uint8_t>();
    const bool is_target = (choice & 1) == 0;
    const std::size_t step = 1 + choice / 2;
    const fuzz::Bytes stream = frames_of(input);
    const Outcome whole = run(stream, 1 << 20, is_target);
    const Outcome pieces = run(stream, step, is_target);
    require(whole.fault == pieces.fault && whole.frames == pieces.frames &&
                whole.pool == pieces.pool,
            "in whatever pieces the bytes come, the same comes of them");
    return 0;
}
