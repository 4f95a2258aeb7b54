// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes the JSON documents of a hostile target in rpmemctl: the texts that are printed from them,
// and the digests. A control character in a text, deep nesting, or a chunk outside of the pool
// fails. One byte of the input selects the number of nested lists, because an input is short.
#include "tests/fuzz/property.hpp"
#include "tools/ctl/action_text.hpp"
#include "tools/ctl/answer.hpp"
#include "tools/ctl/read_digests.hpp"
#include "tools/ctl/text.hpp"
#include "tools/ctl/verdict.hpp"

#include <nlohmann/json.hpp>

namespace {

using namespace rpmem;
using namespace rpmem::ctl;
using nlohmann::json;

bool is_printable(const std::string& text) {
    return std::ranges::all_of(
        text, [](unsigned char byte) { return byte == '\n' || (byte >= ' ' && byte < 0x7f); });
}

std::size_t depth_of(const json& value) {
    std::size_t deepest = 0;
    for (const json& each : value)
        if (value.is_structured())
            deepest = std::max(deepest, depth_of(each));
    return deepest + 1;
}

void check_digests(const json& document) {
    const auto read = read_digests(document);
    if (fuzz::is_refused(read, {EPROTO}))
        return;
    fuzz::require(read->chunk <= std::max<std::uint64_t>(read->length, std::uint64_t{1} << 20) * 2,
                  "a chunk is not much larger than the pool");
    for (std::size_t i = 0; i < read->digests.size(); ++i)
        fuzz::require(read->range(i).end <= read->length, "a chunk is within the pool");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const std::size_t levels = std::size_t{input.take_value<std::uint8_t>()} * 64;
    const std::string text =
        std::string(levels, '[') + input.take_text() + std::string(levels, ']');
    const json document = parse_answer(text);
    if (!document.is_object() && !document.is_array())
        return 0;
    fuzz::require(depth_of(document) <= max_answer_depth + 2, "a document is not nested deeper");
    for (auto* describe : {describe_list, describe_info, describe_check, describe_sessions,
                           describe_evicted, describe_created, describe_accepted, describe_taken})
        fuzz::require(is_printable(describe(document)), "what is printed is printable");
    fuzz::require(is_printable(describe_node("Target", document)), "a report is printable");
    const auto report = std::make_shared<const json>(document);
    const Verdict verdict = judge(document, {RemoteAnswer::Kind::report, report, {}, {}});
    fuzz::require(is_printable(describe(verdict, "target")), "a verdict is printable");
    check_digests(document);
    return 0;
}
