// SPDX-License-Identifier: BSD-3-Clause
#include "librpmem/session/ssh2/agent.hpp"

#include "common/base/io.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>

namespace rpmem::initiator::ssh2 {
namespace {

constexpr std::uint8_t request_identities = 11;
constexpr std::byte identities_answer{12};
constexpr std::uint8_t sign_request = 13;
constexpr std::byte sign_response{14};
constexpr std::uint32_t sign_with_sha256 = 2;
constexpr std::uint32_t sign_with_sha512 = 4;

constexpr std::size_t max_answer = std::size_t{1} << 18;
constexpr std::size_t max_identities = 256;

} // namespace

Result<Agent> Agent::connect(const std::string& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.size() >= sizeof(address.sun_path))
        return fail(ErrorClass::caller_fault, ENAMETOOLONG,
                    "the name of its socket has {} bytes; the maximum is {}", socket.size(),
                    sizeof(address.sun_path) - 1);
    std::copy(socket.begin(), socket.end(), address.sun_path);
    // Non-blocking, so that connect(2) fails if the queue of the agent is full.
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)))
        return fail(ErrorClass::caller_fault, errno, "{}", strerror(errno));
    return Agent(std::move(fd));
}

// Returns the body of the answer, without its type.
Result<Bytes> Agent::ask(const Bytes& request, std::byte expected, const Deadline& deadline) const {
    wire::ByteWriter message(request.size() + sizeof(std::uint32_t));
    put_string(message, request);
    RPMEM_TRY(write_fully(socket_.get(), message.take(), deadline));
    Bytes size_field(sizeof(std::uint32_t));
    RPMEM_ASSIGN(auto got, read_fully(socket_.get(), size_field, deadline));
    const auto size = wire::ByteReader(size_field).big_endian<std::uint32_t>();
    if (got < size_field.size())
        return fail(ErrorClass::target_refused, EPROTO,
                    "it closed the connection without an answer");
    if (size == 0 || size > max_answer)
        return fail(ErrorClass::target_refused, EPROTO,
                    "its answer is malformed: its size is {}; 1 to {} are allowed", size,
                    max_answer);
    Bytes answer(size);
    RPMEM_ASSIGN(got, read_fully(socket_.get(), answer, deadline));
    if (got < answer.size())
        return fail(ErrorClass::target_refused, EPROTO,
                    "its answer is incomplete: {} of {} bytes arrived", got, answer.size());
    if (answer.front() != expected)
        return fail(ErrorClass::target_refused, EACCES,
                    "it refused the request: it answered with type {}, expected {}",
                    std::to_integer<unsigned>(answer.front()), std::to_integer<unsigned>(expected));
    answer.erase(answer.begin());
    return answer;
}

Result<std::vector<Agent::Identity>> Agent::identities(const Deadline& deadline) const {
    wire::ByteWriter request(sizeof(request_identities));
    request.big_endian(request_identities);
    RPMEM_ASSIGN(const auto answer, ask(request.take(), identities_answer, deadline));
    wire::ByteReader reader(answer);
    const auto count = reader.big_endian<std::uint32_t>();
    std::vector<Identity> identities;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, max_identities); ++i) {
        auto key = take_string(reader);
        const auto comment = take_string(reader);
        if (!key || !comment)
            return fail(ErrorClass::target_refused, EPROTO,
                        "its answer is malformed: it announces {} keys, and ends within key {}",
                        count, i + 1);
        identities.push_back({std::move(*key), text_of(*comment)});
    }
    return identities;
}

Result<Bytes> Agent::sign(const Bytes& public_key, std::span<const std::byte> data,
                          const std::string& algorithm, const Deadline& deadline) const {
    wire::ByteWriter request(public_key.size() + data.size() + 16);
    request.big_endian(sign_request);
    put_string(request, public_key);
    put_string(request, data);
    request.big_endian(algorithm == "rsa-sha2-512"   ? sign_with_sha512
                       : algorithm == "rsa-sha2-256" ? sign_with_sha256
                                                     : std::uint32_t{0});
    RPMEM_ASSIGN(const auto answer, ask(request.take(), sign_response, deadline));
    wire::ByteReader reader(answer);
    auto signature = take_string(reader);
    if (!signature)
        return fail(ErrorClass::target_refused, EPROTO,
                    "its answer is malformed: its {} bytes are no signature", answer.size());
    return std::move(*signature);
}

} // namespace rpmem::initiator::ssh2
