// SPDX-License-Identifier: BSD-3-Clause
// The action create writes a pool set file, and creates its pool.
#include "common/pools/part_layout.hpp"
#include "rpmemd/actions/actions.hpp"
#include "rpmemd/actions/document.hpp"
#include "rpmemd/pools/pool_set_lookup.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rpmem::target {
namespace {

using nlohmann::json;

constexpr std::string_view signature = "RPMEMCTL"; // signature of pools from this action

std::string part_line(const ActionRequest& request, const std::string& path, std::size_t index,
                      std::size_t count) {
    if (path.starts_with("/dev/dax")) // the size of a Device DAX cannot be chosen
        return fmt::format("AUTO {}\n", path);
    const std::uint64_t share = request.size / count + (request.size % count != 0 ? 1 : 0);
    std::uint64_t size = std::max<std::uint64_t>(share, RPMEM_MIN_PART);
    size += layout_page - 1 - (size - 1) % layout_page;
    if (index > 0 && !request.no_headers)
        size += layout_page; // room for the header, which is not part of the pool
    return fmt::format("{} {}\n", size, path);
}

Result<std::string> pool_set_text(const ActionContext& context, const ActionRequest& request) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 62; // so that sums fit into 64 bits
    if (request.size > largest)
        return invalid("--size {} is too large; the maximum is {}", request.size, largest);
    const std::vector<std::string> parts = parts_of(request, context.pool_options.poolset_dir);
    std::string text = "PMEMPOOLSET\n";
    if (request.no_headers)
        text += "OPTION NOHDRS\n";
    for (std::size_t i = 0; i < parts.size(); ++i)
        text += part_line(request, parts[i], i, parts.size());
    RPMEM_ASSIGN(const auto parsed, parse_pool_set(text, request.name));
    const bool same =
        std::ranges::equal(parsed.parts, parts, {}, &PoolSetPart::path,
                           [](const std::string& path) { return std::filesystem::path(path); });
    if (!same)
        return invalid("a path of a part cannot be written into a pool set file; it must be "
                       "absolute, without a blank at its end and without control characters");
    return text;
}

rpmem_pool_attr attributes_for(const ActionRequest& request) {
    rpmem_pool_attr attributes{};
    if (request.no_headers)
        return attributes;
    std::memcpy(attributes.signature, signature.data(), sizeof(attributes.signature));
    attributes.major = 1;
    attributes.incompat_features = feature::incompat_checksum_2k | feature::incompat_shutdown_state;
    const Uuid set = random_uuid();
    const Uuid own = random_uuid();
    std::ranges::copy(set, attributes.poolset_uuid);
    // A single replica is its own neighbour.
    for (auto* uuid : {&attributes.uuid, &attributes.next_uuid, &attributes.prev_uuid})
        std::ranges::copy(own, *uuid);
    return attributes;
}

Result<std::uint64_t> create_pool_of(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(auto pool, create_pool(context.pool_options, request.name, request.size,
                                        attributes_for(request), context.log));
    const std::uint64_t size = pool.size();
    RPMEM_TRY(pool.close());
    return size;
}

} // namespace

ActionResult create_set(ActionContext& context, const ActionRequest& request) {
    RPMEM_ASSIGN(const auto text, pool_set_text(context, request));
    if (context.pool_options.refuse_hidden)
        RPMEM_TRY(check_new_part(context.pool_options, request.name + std::string(part_suffix)));
    RPMEM_TRY(write_pool_set(context.pool_options, request.name, text));
    std::uint64_t size = 0;
    if (!request.set_only) {
        const auto created = create_pool_of(context, request);
        if (!created) {
            static_cast<void>(unlink_pool_set(context.pool_options, request.name));
            return Failure(created.error());
        }
        size = *created;
    }
    return json{{"name", request.name},
                {"created", !request.set_only},
                {"size", size},
                {"pool_set_file", text}};
}

} // namespace rpmem::target
