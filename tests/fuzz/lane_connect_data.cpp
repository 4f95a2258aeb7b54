// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the data that a lane sends with its connection request over libfabric, as the daemon reads
// it. Short data that is accepted, or data that is encoded differently, fails.
#include "common/wire/hello.hpp"
#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using fuzz::require;
    fuzz::Bytes message = fuzz::Input(data, size).take(size);
    const auto greeting = wire::decode_lane_connect_data(message);
    require(greeting.has_value() == (size >= wire::lane_connect_data_size),
            "only a greeting that is too short is refused");
    if (fuzz::is_refused(greeting, {EBADMSG}))
        return 0;
    message.resize(wire::lane_connect_data_size); // a provider may have appended zeros
    require(wire::encode(*greeting) == message, "a decoded greeting is encoded to the same bytes");
    return 0;
}
