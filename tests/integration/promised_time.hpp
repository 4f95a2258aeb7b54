// SPDX-License-Identifier: BSD-3-Clause
// Checks the maximum times that docs/reliability.md promises for each way to lose a session.
#pragma once

#include "tests/integration/environment.hpp"
#include "tests/support/thoroughness.hpp"

namespace rpmem::test {

// Finds the row of the running test. The destructor expects that no more time has passed than the
// row promises.
class PromisedTime {
public:
    PromisedTime() {
        const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
        const std::string name = std::string("`") + test->test_suite_name() + '.' + test->name();
        std::ifstream table(variable("RPMEM_TEST_ENDINGS"));
        // The columns are: ending, the caller sees, within, shown by.
        for (std::string line; std::getline(table, line);)
            if (line.find(name + '`') != std::string::npos)
                std::istringstream(line.substr(before_cell(line, 2))) >> seconds_;
        EXPECT_GT(seconds_, 0) << "no row of the table, or no time in it, for " << name;
    }
    // every_case is also about the factor by which a sanitizer makes calls slower.
    ~PromisedTime() {
        const std::chrono::duration<double> took = Clock::now() - began_;
        EXPECT_LE(took.count(), seconds_ * busy * static_cast<double>(every_case))
            << "more than the table promises";
    }
    PromisedTime(const PromisedTime&) = delete;
    PromisedTime& operator=(const PromisedTime&) = delete;

private:
    using Clock = std::chrono::steady_clock;
    static constexpr double busy = 4; // other tests, and virtual machines, run beside this one

    static std::size_t before_cell(const std::string& line, int cell) {
        std::size_t at = 0;
        for (int i = 0; i <= cell; ++i)
            at = line.find('|', at) + 1;
        return at;
    }

    double seconds_ = 0;
    Clock::time_point began_ = Clock::now();
};

// Returns the result of CALL, which may take the promised time.
template <typename Call>
auto in_promised_time(const Call& call) {
    const PromisedTime time;
    return call();
}

} // namespace rpmem::test
