// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the request that a program receives from rpmemctl, and the answer that rpmemctl receives.
// A crash, an accepted request that encodes to other bytes, or an error that is not documented
// fails.
#include "librpmem/control/control_message.hpp"

#include "tests/fuzz/property.hpp"

using namespace rpmem;
using namespace rpmem::initiator;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::Bytes bytes = fuzz::Input(data, size).take(size);
    const auto request = decode_control_request(bytes);
    if (!fuzz::is_refused(request, {EBADMSG, EPROTONOSUPPORT})) {
        fuzz::require(encode(*request) == bytes, "a request encodes to the bytes of its message");
        fuzz::require(request->verb <= ControlVerb::rate, "the verb is known");
        fuzz::require(request->rate == 0 || request->verb == ControlVerb::rate,
                      "only rate has a rate");
    }
    const auto answer = decode_control_answer(bytes);
    if (!fuzz::is_refused(answer, {EBADMSG, EPROTONOSUPPORT}))
        fuzz::require(encode(*answer) == bytes, "an answer encodes to the bytes of its message");
    return 0;
}
