// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/answer.hpp"

#include <nlohmann/json.hpp>

namespace rpmem::ctl {

using nlohmann::json;

// The parser itself does not recurse, and drops what the callback rejects.
json parse_answer(std::string_view text) {
    bool too_deep = false;
    json answer = json::parse(
        text,
        [&](int depth, json::parse_event_t, const json&) {
            too_deep = too_deep || depth > max_answer_depth;
            return !too_deep;
        },
        false);
    return too_deep ? json(json::value_t::discarded) : answer;
}

} // namespace rpmem::ctl
