// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the output of "ssh -G", from which the library reads the host of a target. A host that is
// too long, has several lines, or is not in the output fails.
#include "librpmem/session/ssh_destination.hpp"

#include "tests/fuzz/property.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace rpmem;
    using namespace rpmem::initiator;
    const std::string_view text = fuzz::text_of_input(data, size);
    const auto destination = read_destination(text);
    if (!destination)
        return 0;
    constexpr std::size_t max_host = 255;
    fuzz::require(!destination->host.empty() && destination->host.size() <= max_host,
                  "the host is bounded");
    fuzz::require(destination->host.find('\n') == std::string::npos, "the host is of one line");
    fuzz::require(text.find(destination->host) != std::string_view::npos,
                  "the host is in what ssh printed");
    return 0;
}
