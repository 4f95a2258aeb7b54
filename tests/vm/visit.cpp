// SPDX-License-Identifier: BSD-3-Clause
// visit create|open TARGET COMPAT INCOMPAT
//
// Creates the pool of pool.set with these features, or opens it, and closes it. Exits with 1 and
// prints the error text if a call fails.
#include "tests/vm/program.hpp"

using rpmem::vm::local_memory;
using rpmem::vm::number;

int main(int argc, char** argv) {
    if (argc != 5)
        return 2;
    constexpr std::size_t size = std::size_t{4} << 20;
    std::byte* const local = local_memory(size);
    rpmem_pool_attr attributes{};
    std::memcpy(attributes.signature, "VISITED", 7);
    attributes.compat_features = number(argv[3]);
    attributes.incompat_features = number(argv[4]);
    unsigned lanes = 1;
    const bool create = std::strcmp(argv[1], "create") == 0;
    RPMEMpool* const pool =
        create ? rpmem_create(argv[2], "pool.set", local, size, &lanes, &attributes)
               : rpmem_open(argv[2], "pool.set", local, size, &lanes, &attributes);
    if (!pool || rpmem_close(pool) != 0) {
        std::printf("%s\n", rpmem_errormsg());
        return 1;
    }
    std::free(local);
    return 0;
}
