// SPDX-License-Identifier: BSD-3-Clause
// A session with a pool of two parts. The recorder examines each write of the record, which is an
// attribute of the first part, and makes syncs fail.
#pragma once

#include "rpmemd/pools/files/pool_attribute.hpp"
#include "rpmemd/session/session.hpp"
#include "rpmemd/settings/settings.hpp"
#include "tests/support/recorder/recorder.hpp"
#include "tests/unit/rpmemd/pools/pool_fixture.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/xattr.h>

namespace rpmem::target {

using test::Event;
using test::Recorder;

inline Configuration configuration_for(const std::filesystem::path& root) {
    Layer layer;
    for (const auto& [key, text] : {std::pair("poolset-dir", (root / "sets").native()),
                                    std::pair("state-dir", (root / "state").native()),
                                    std::pair("confine", std::string("no"))})
        EXPECT_TRUE(succeeded(apply_setting(layer, key, {text, "test"})));
    return configuration_of(value_of(complete(layer, root.native())));
}

class RecordedSession : public PoolFixture {
protected:
    void SetUp() override {
        PoolFixture::SetUp();
        pool_set("pool.set", "2M @/part0\n2M @/part1\n");
        ASSERT_TRUE(succeeded(create()));
        configuration_ = configuration_for(root);
        // A descriptor that may write would keep sessions out that only read, see F_SETLEASE.
        for (const std::string name : {"part0", "part1"})
            parts_.emplace_back(::open(part(name).c_str(), O_RDONLY | O_CLOEXEC));
        Recorder::instance().reset();
        Recorder::instance().before_each([this](const Event& event) { look(event); });
        start();
    }
    void TearDown() override {
        session_.reset();
        Recorder::instance().reset();
        PoolFixture::TearDown();
    }

    void start(const wire::Agreement& agreement = {.lane_frames = true}) {
        session_.emplace(
            configuration_, SessionAddresses{"127.0.0.1", "127.0.0.1"},
            HandshakeResult{.agreement = agreement, .transcript = std::nullopt},
            [] { return false; }, no_statistics_, log);
    }
    // Returns the attribute, or nothing if there is none.
    [[nodiscard]] std::optional<std::string> record() const {
        std::string value(max_pool_attribute_size, '\0');
        const auto size =
            ::getxattr(part("part0").c_str(), pool_attribute_name, value.data(), value.size());
        if (size < 0)
            return std::nullopt;
        value.resize(static_cast<std::size_t>(size));
        return value;
    }
    [[nodiscard]] Result<wire::InBandAttributes> open(wire::Provider provider) {
        return session_->open({.pool_size = 0,
                               .lanes = 1,
                               .provider = provider,
                               .inline_size = 0,
                               .pool_set = "pool.set"});
    }
    [[nodiscard]] bool opens() { return open(wire::Provider::tcp).has_value(); }
    // Returns whether a sync of the part has succeeded after the last write of the record.
    [[nodiscard]] static bool last_record_is_durable() {
        bool is_durable = false;
        std::string part;
        for (const Event& event : Recorder::instance().events()) {
            if (event.call == "fsetxattr") {
                part = event.path;
                is_durable = false;
            } else if (event.call == "fsync" && event.path == part && event.code == 0) {
                is_durable = true;
            }
        }
        return is_durable;
    }
    // Returns how often the record was written since the last call.
    [[nodiscard]] unsigned writes() { return std::exchange(writes_, 0); }
    Configuration configuration_{};
    SessionStatistics no_statistics_{"", log}; // without a directory
    std::optional<Session> session_;

private:
    [[nodiscard]] static bool is_free(const UniqueFd& file) {
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
            return false;
        ::flock(file.get(), LOCK_UN);
        return true;
    }
    void look(const Event& event) {
        if (event.call != "fsetxattr")
            return;
        ++writes_;
        for (const UniqueFd& part : parts_)
            EXPECT_FALSE(is_free(part)) << "another session could have the pool";
    }

    std::vector<UniqueFd> parts_;
    unsigned writes_ = 0;
};

} // namespace rpmem::target
