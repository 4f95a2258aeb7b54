// SPDX-License-Identifier: BSD-3-Clause
// The calls of each scenario, and the session afterwards, which must succeed.
#include "tests/faults/scenario.hpp"

#include "tests/faults/application.hpp"

namespace rpmem::faults {
namespace {

constexpr std::size_t small = 100;
constexpr std::size_t large = std::size_t{600} * 1024; // two frames
constexpr std::size_t first = 8192;
constexpr std::size_t second = part_size + 12345; // in the second part
constexpr std::size_t elsewhere = 65536;

void write_some(Application& program) {
    program.persist(first, small, 0);
    program.flush(first + 3 * small, small, 0);
    program.flush(second, large, 1);
    program.drain(0);
    program.drain(1);
    program.deep_persist(first + 6 * small, small, 1);
    program.read(second, large, 1);
    program.set_attributes();
    program.set_attributes();
}

bool create(Application& program) {
    program.count();
    const bool created = program.create();
    if (created)
        write_some(program);
    program.close();
    return created;
}

bool open(Application& program) {
    program.count();
    if (program.open())
        write_some(program);
    return program.close();
}

bool reconnect(Application& program) {
    program.open();
    program.flush(first, small, 0);
    program.flush(first + 3 * small, small, 1);
    program.count();
    program.kill_daemon();
    program.drain(0);
    program.persist(second, small, 1);
    program.read(first, small, 1);
    program.set_attributes();
    return program.close();
}

// The sleep is longer than the interval of heartbeats.
bool idle(Application& program) {
    program.open();
    program.flush(first, small, 0);
    program.count();
    program.sleep();
    program.stop_counting();
    program.drain(0);
    return program.close();
}

bool remove(Application& program) {
    program.count();
    return program.remove(0);
}

// Returns true if the call with the scenario's name has succeeded.
bool do_counted(Scenario scenario, Application& program) {
    switch (scenario) {
    case Scenario::create:
        return create(program);
    case Scenario::open:
        return open(program);
    case Scenario::reconnect:
        return reconnect(program);
    case Scenario::idle:
        return idle(program);
    case Scenario::remove:
        break;
    }
    return remove(program);
}

// A later session without a fault must be able to open the pool, or to create it. A failed create
// must leave nothing. Another remove must be able to remove what a failed one has left.
void expect_usable(Scenario scenario, bool done, Application& program) {
    const bool is_to_be_removed = scenario == Scenario::remove && !done;
    if (is_to_be_removed && !program.remove(0) && !program.remove(RPMEM_REMOVE_FORCE))
        program.find("what is left of the pool cannot be removed");
    const bool is_there = scenario == Scenario::create ? done : scenario != Scenario::remove;
    if (!(is_there ? program.open() : program.create()))
        return program.find(is_there ? "the pool cannot be opened" : "no pool can be created");
    if (!program.persist(elsewhere, small, 1) || !program.set_attributes())
        program.find("the pool cannot be used");
    if (!program.close())
        program.find("the pool cannot be closed");
}

} // namespace

void run(Scenario scenario, const Place& place, std::uint64_t seed) {
    Application program(place, seed);
    const bool done = do_counted(scenario, program);
    program.expect_daemons_gone();
    program.stop_counting();
    program.expect_promises_kept();
    program.expect_nothing_open();
    expect_usable(scenario, done, program);
    program.expect_daemons_gone();
    program.expect_promises_kept();
    program.expect_nothing_open();
}

} // namespace rpmem::faults
