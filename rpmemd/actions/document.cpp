// SPDX-License-Identifier: BSD-3-Clause
#include "rpmemd/actions/document.hpp"

#include "common/base/hex.hpp"
#include "common/base/log.hpp"
#include "common/base/shell_word.hpp"
#include "common/base/text.hpp"

#include <nlohmann/json.hpp>

#include <cstring>

namespace rpmem::target {
namespace {

using nlohmann::json;

} // namespace

json json_of(const LiveSession& session) {
    const SessionRecord& record = session.record;
    return {{"id", session.id},
            {"pid", session.pid},
            {"host", record.initiator.host},
            {"user", record.initiator.user},
            {"address", record.initiator.address},
            {"generation", record.generation},
            {"pool_set", record.pool_set},
            {"since", record.since},
            {"last_seen", session.last_seen},
            {"read_only", record.read_only}};
}

json json_of(const std::vector<LiveSession>& sessions) {
    json list = json::array();
    for (const LiveSession& session : sessions)
        list.push_back(json_of(session));
    return list;
}

json json_of(const PartFacts& part) {
    return {{"path", part.path.native()},
            {"size", part.size},
            {"set_size", part.set_size ? json(*part.set_size) : json(nullptr)},
            {"allocated", part.allocated},
            {"device_dax", part.device_dax},
            {"locked", part.locked},
            {"file_system", part.file_system},
            {"medium", part.medium},
            {"problem", part.problem}};
}

json repairs_of(const PoolFacts& pool) {
    json commands = json::array();
    for (const PartFacts& part : pool.parts)
        if (part.refused_by_mode)
            commands.push_back("chmod go-w " + shell_word(part.path.native()));
    return commands;
}

json attributes_json(const PoolHeader& header) {
    const rpmem_pool_attr attributes = attributes_of(header);
    const auto signature = fixed_text({attributes.signature, sizeof(attributes.signature)});
    return {{"signature", printable(signature)},
            {"major", attributes.major},
            {"compat_features", attributes.compat_features},
            {"incompat_features", attributes.incompat_features},
            {"ro_compat_features", attributes.ro_compat_features},
            {"poolset_uuid", hex(attributes.poolset_uuid)},
            {"uuid", hex(attributes.uuid)},
            {"next_uuid", hex(attributes.next_uuid)},
            {"prev_uuid", hex(attributes.prev_uuid)},
            {"user_flags", hex(attributes.user_flags)},
            {"created", header.creation_time}};
}

json shutdown_json(const PoolHeader& header) {
    if ((header.incompat_features & feature::incompat_shutdown_state) == 0)
        return nullptr;
    return {{"dirty", header.shutdown_state.dirty != 0},
            {"unsafe_shutdowns", header.shutdown_state.unsafe_shutdown_count}};
}

const char* name_of(HeaderLayout headers) {
    switch (headers) {
    case HeaderLayout::every_part:
        return "every part";
    case HeaderLayout::first_part_only:
        return "first part";
    case HeaderLayout::none:
        break;
    }
    return "none";
}

} // namespace rpmem::target
