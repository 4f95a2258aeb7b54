#include "tests/simulation/plan.hpp"

#include <algorithm>
#include <array>

namespace rpmem::simulation {
namespace {

constexpr std::array<const char*, static_cast<std::size_t>(Trouble::count)> troubles{
    "none",        "pause",  "slow_sync",    "cut",         "half_open", "silence",
    "deaf_target", "medium", "lost_session", "failed_send", "bad_peer",  "target_ends"};
constexpr std::array<const char*, static_cast<std::size_t>(Planted::count)> plants{
    "none",         "ack-before-persist", "skipped-lane", "lost-credit", "stale-ack",  "b-before-a",
    "hidden-error", "same-nonce",         "left-early",   "lost-wake",   "no-deadline"};

constexpr std::array<Time, 5> delays{0, microsecond, 50 * microsecond, millisecond,
                                     20 * millisecond};
// From less than a header to more than the credits.
constexpr std::array<std::size_t, 5> capacities{20, 100, 1000, 8192, 80 * 1024};
constexpr std::array<std::uint32_t, 6> payloads{8, 24, 64, 1024, 4096, 32 * 1024 - 32};
constexpr std::array<std::uint32_t, 2> credits{wire::least_credit_bytes, 1024 * 1024};
constexpr std::array<std::uint32_t, 5> frames{1, 2, 5, 64, 1024};
constexpr std::array<std::size_t, 3> buffers{256, 4096, 64 * 1024};

// More than the listener has slots.
constexpr std::uint64_t most_strangers = 160;
constexpr std::uint64_t few_strangers = 6;

// Pieces that one call may be cut into: what takes more tells nothing new, and takes long.
constexpr std::size_t most_pieces = 24;

wire::LaneTerms make_terms(Random& random) {
    return {.credits = {.bytes = random.one_of(credits),
                        .payload = random.one_of(payloads),
                        .frames = random.one_of(frames),
                        .reads = static_cast<std::uint32_t>(random.between(1, wire::most_reads))},
            .pool_size = pool_size};
}

// All that an application sends may be under way before anything is acknowledged, and where the
// network has hardly any room each part of it takes a round trip.
std::chrono::milliseconds timeout_of(const Plan& plan) {
    constexpr std::chrono::milliseconds without_trouble(5000);
    constexpr std::uint64_t parts = 4; // that what there is room for may be sent in
    const std::uint64_t bytes = plan.steps * (plan.most_length + 2 * wire::frame_header_size);
    const Time round_trip = 2 * (plan.conditions.delay + plan.conditions.jitter);
    const Time sending = bytes * parts / plan.conditions.capacity * round_trip;
    return without_trouble + std::chrono::milliseconds(sending / millisecond);
}

} // namespace

const char* name_of(Trouble trouble) { return troubles[static_cast<std::size_t>(trouble)]; }

const char* name_of(Planted planted) { return plants[static_cast<std::size_t>(planted)]; }

std::optional<Planted> planted_of(std::string_view name) {
    for (std::size_t i = 0; i < plants.size(); ++i)
        if (name == plants[i])
            return static_cast<Planted>(i);
    return std::nullopt;
}

Plan make_plan(Random& random) {
    Plan plan;
    plan.terms = make_terms(random);
    plan.conditions.delay = random.one_of(delays);
    plan.conditions.jitter = random.chance(50) ? plan.conditions.delay : 0;
    plan.conditions.capacity = random.one_of(capacities);
    plan.conditions.partial = random.chance(50) ? static_cast<unsigned>(random.below(40)) : 0;
    plan.lanes = static_cast<unsigned>(random.between(1, most_lanes));
    plan.applications = static_cast<unsigned>(
        random.between((plan.lanes + 3) / 4, std::min<std::uint64_t>(plan.lanes, 4)));
    plan.workers = static_cast<unsigned>(random.between(1, 2));
    plan.steps = static_cast<unsigned>(random.between(4, 40));
    plan.most_length = std::min({region_size, plan.terms.credits.payload * most_pieces,
                                 plan.conditions.capacity * most_pieces});
    plan.timeout = timeout_of(plan);
    plan.target_buffer = random.one_of(buffers);
    plan.kind = static_cast<Kind>(random.below(3));
    if (random.chance(60))
        plan.trouble =
            static_cast<Trouble>(random.between(1, static_cast<std::uint64_t>(Trouble::count) - 1));
    // Most of them while calls are under way.
    const Time round_trip = 2 * plan.conditions.delay + 20 * microsecond;
    plan.trouble_at = random.below(round_trip * plan.steps);
    if (random.chance(50))
        plan.troubled_lane = static_cast<unsigned>(random.below(plan.lanes));
    plan.kernel_tells = random.chance(60);
    plan.grants = random.chance(30);
    if (random.chance(30))
        plan.strangers = 1 + static_cast<unsigned>(
                                 random.below(random.chance(30) ? most_strangers : few_strangers));
    plan.outlasts = plan.strangers > 0 && random.chance(30);
    if (random.chance(10))
        plan.shortages = 1 + static_cast<unsigned>(random.below(3));
    return plan;
}

} // namespace rpmem::simulation
