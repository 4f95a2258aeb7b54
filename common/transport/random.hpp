// Where secrets and nonces come from.
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <span>

namespace rpmem::transport {

// Tests and the simulator have sources of their own, which repeat themselves.
class Random {
public:
    virtual ~Random() = default;
    [[nodiscard]] virtual Result<> fill(std::span<std::byte> bytes) = 0;
};

// The kernel's, by getrandom(2): it needs no library, no descriptor and no seed, and is right in a
// child of fork(2) as well.
class SystemRandom final : public Random {
public:
    [[nodiscard]] Result<> fill(std::span<std::byte> bytes) override;
};

} // namespace rpmem::transport
