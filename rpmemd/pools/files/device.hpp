// SPDX-License-Identifier: BSD-3-Clause
// The device under a file, as libpmem2 reports it.
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>

struct pmem2_source;

namespace rpmem::target {

class Device {
public:
    // FD must stay open while the Device exists. PATH is for error texts.
    static Result<Device> of(int fd, const std::string& path);

    [[nodiscard]] Result<std::uint64_t> size() const;
    [[nodiscard]] Result<std::uint64_t> alignment() const; // required for mappings

    // These functions return 0, an empty string or false if the platform does not report the value.
    [[nodiscard]] Result<std::uint64_t> unsafe_shutdown_count() const;
    [[nodiscard]] Result<std::string> id() const;
    [[nodiscard]] Result<bool> has_bad_blocks() const;

private:
    struct Delete {
        void operator()(pmem2_source* source) const;
    };
    Device(pmem2_source* source, std::string path) : source_(source), path_(std::move(path)) {}

    std::unique_ptr<pmem2_source, Delete> source_;
    std::string path_;
};

} // namespace rpmem::target
