// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/read_digests.hpp"

#include "tools/ctl/reading.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>

namespace rpmem::ctl {

Result<compare::PoolDigests> read_digests(const nlohmann::json& document) {
    compare::PoolDigests read{.size = number_of(document, "size").value_or(0),
                              .first = number_of(document, "first").value_or(1),
                              .length = number_of(document, "length").value_or(0),
                              .chunk = number_of(document, "chunk").value_or(0)};
    for (const auto& digest : member(document, "digests"))
        read.digests.push_back(digest.is_string() ? digest.get<std::string>() : "");
    if (text_of(document, "algorithm") != "xxh3-128")
        return fail(ErrorClass::link_lost, EPROTO,
                    "the target's digests are of algorithm \"{}\", expected \"xxh3-128\"",
                    text_of(document, "algorithm"));
    RPMEM_TRY(compare::check(read));
    return read;
}

} // namespace rpmem::ctl
