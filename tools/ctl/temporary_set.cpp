// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ctl/temporary_set.hpp"

#include <fmt/format.h>
#include <librpmem.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace rpmem::ctl {
namespace {

std::vector<std::string> words_for(const std::string& name, std::uint64_t size, bool set_only) {
    std::vector<std::string> words = {"--create-set", name, "--size", std::to_string(size)};
    if (set_only)
        words.emplace_back("--set-only");
    return words;
}

} // namespace

TemporarySet::TemporarySet(const Context& context, std::uint64_t size, bool set_only)
    : target_(context.command.target),
      name_(fmt::format("rpmemctl-{}-{}.set", std::time(nullptr), ::getpid())),
      answer_(ask_action(context.target, words_for(name_, size, set_only), context.settings,
                         work_timeout)) {}

TemporarySet::~TemporarySet() {
    if (answer_.status != status_done)
        return;
    constexpr int flags = RPMEM_REMOVE_FORCE | RPMEM_REMOVE_POOL_SET;
    if (::rpmem_remove(target_.c_str(), name_.c_str(), flags) != 0)
        fmt::print(stderr, "rpmemctl: pool set {} is left on the target: {}\n", name_,
                   ::rpmem_errormsg());
}

} // namespace rpmem::ctl
