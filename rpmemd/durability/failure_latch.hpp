// SPDX-License-Identifier: BSD-3-Clause
// The first failure of a medium. The session that meets it ends: see docs/durability.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace rpmem::target {

struct MediumFailure {
    std::string part;     // path of its file
    std::uint64_t offset; // in the file
    std::uint64_t length;
    int code; // a positive errno value
    std::string text;
};

// Keeps the first failure of a pool's medium for good. Looking costs one load; may be used by
// several threads.
class FailureLatch {
public:
    [[nodiscard]] int code() const { return code_.load(std::memory_order_acquire); } // 0: none
    void set(const std::string& part, std::uint64_t offset, std::uint64_t length, int code);
    // The file of PART ends at OFFSET, LENGTH bytes before what is mapped of it.
    void set_truncated(const std::string& part, std::uint64_t offset, std::uint64_t length);
    // No directory has the file of PART any more.
    void set_removed(const std::string& part);
    void set(MediumFailure failure);
    [[nodiscard]] std::optional<MediumFailure> failure() const;

private:
    std::atomic<int> code_ = 0;
    mutable std::mutex mutex_; // of what follows
    std::optional<MediumFailure> failure_;
};

} // namespace rpmem::target
