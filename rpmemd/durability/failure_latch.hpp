// SPDX-License-Identifier: BSD-3-Clause
// The first failure of a medium, which ends the session: see docs/durability.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace rpmem::target {

struct MediumFailure {
    std::string part;     // path of the part
    std::uint64_t offset; // offset in the file
    std::uint64_t length;
    int code; // a positive errno value
    std::string text;
};

// Keeps the first failure of the medium of a pool. Thread-safe. code() costs one load.
class FailureLatch {
public:
    // Returns 0 if there is no failure.
    [[nodiscard]] int code() const { return code_.load(std::memory_order_acquire); }
    void set(const std::string& part, std::uint64_t offset, std::uint64_t length, int code);
    // Records that the file of PART ends at OFFSET, LENGTH bytes before the end of its mapping.
    void set_truncated(const std::string& part, std::uint64_t offset, std::uint64_t length);
    // Records that the file of PART has no name any more.
    void set_removed(const std::string& part);
    void set(MediumFailure failure);
    [[nodiscard]] std::optional<MediumFailure> failure() const;

private:
    std::atomic<int> code_ = 0;
    mutable std::mutex mutex_; // protects failure_
    std::optional<MediumFailure> failure_;
};

} // namespace rpmem::target
