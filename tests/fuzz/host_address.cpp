// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes numeric addresses, which come from SSH_CONNECTION and from settings. An address that is
// written and read back differently fails.
#include "common/base/host_address.hpp"

#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    const auto address = parse_address(std::string(fuzz::text_of_input(data, size)));
    if (!address)
        return 0;
    const auto again = parse_address(text_of(*address));
    fuzz::require(again && *again == *address, "an address is read again as it was");
    fuzz::require(reach_of(*again) == reach_of(*address), "it leads to the same place");
    return 0;
}
