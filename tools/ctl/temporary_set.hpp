// SPDX-License-Identifier: BSD-3-Clause
// A pool set on the target for a trial. The destructor removes it.
#pragma once

#include "tools/ctl/verbs.hpp"

#include <cstdint>
#include <string>

namespace rpmem::ctl {

class TemporarySet {
public:
    // Writes the pool set file and, unless SET_ONLY, creates a pool of SIZE bytes. answer() reports
    // whether it succeeded.
    TemporarySet(const Context& context, std::uint64_t size, bool set_only);
    TemporarySet(const TemporarySet&) = delete;
    TemporarySet& operator=(const TemporarySet&) = delete;
    ~TemporarySet();

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const ActionAnswer& answer() const { return answer_; }

private:
    std::string target_;
    std::string name_;
    ActionAnswer answer_;
};

} // namespace rpmem::ctl
