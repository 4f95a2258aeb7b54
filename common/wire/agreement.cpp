#include "common/wire/agreement.hpp"

namespace rpmem::wire {

HelloAnswer answer_to(const Hello& hello, const Preferences& preferences) {
    const std::uint64_t unwanted = preferences.tls ? 0 : capability_tls;
    return {.version = hello_version,
            .capabilities = hello.capabilities & (all_capabilities | all_conditions) & ~unwanted};
}

// Whoever answers may take what was not offered: that is nothing.
Agreement negotiate(const Hello& hello, const HelloAnswer& answer) {
    const std::uint64_t both = hello.capabilities & answer.capabilities;
    const auto has = [both](std::uint64_t capability) { return (both & capability) != 0; };
    Agreement agreement{.knows_hello = true};
    agreement.lane_frames = has(capability_lane_frames);
    agreement.tls = agreement.lane_frames && has(capability_tls);
    agreement.medium_failure = has(capability_medium_failure);
    // They hold whether or not the initiator knows them.
    agreement.conditions = hello.capabilities & all_conditions;
    return agreement;
}

} // namespace rpmem::wire
