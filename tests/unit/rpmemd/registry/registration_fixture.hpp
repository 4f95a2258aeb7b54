// SPDX-License-Identifier: BSD-3-Clause
// Sessions of two initiators. With the parameter 0 the record of the pool is in an attribute. With
// another errno value the calls for attributes fail, so the record is in state-dir.
#pragma once

#include "common/base/hex.hpp"
#include "rpmemd/pools/files/part_file.hpp"
#include "rpmemd/registry/registration.hpp"
#include "tests/unit/rpmemd/registry/registry_fixture.hpp"

#include <sys/xattr.h>

namespace rpmem::target {

// The errno value of all calls for attributes, or 0 if they work. registration_test.cpp replaces
// these calls.
inline int attribute_error = 0;

inline constexpr unsigned char alice = 1;
inline constexpr unsigned char bob = 2;

struct Attempt {
    Result<> entered;
    Result<> took_up;
    std::vector<std::string> notices;
};

inline PartFile make_part(const std::filesystem::path& path) {
    std::ofstream(path) << "a part";
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    PartRules rules;
    rules.unlocked = true;
    return value_of(PartFile::open(path, rules));
}

class RegistrationTest : public StateDirectoryTest, public testing::WithParamInterface<int> {
protected:
    RegistrationTest() { attribute_error = GetParam(); }
    ~RegistrationTest() override { attribute_error = 0; }
    [[nodiscard]] static bool has_attributes() { return GetParam() == 0; }
    // Overwrites the record with VALUE.
    void damage(const std::string& value) const {
        if (has_attributes())
            ASSERT_EQ(::setxattr(part_.path().c_str(), pool_attribute_name, value.data(),
                                 value.size(), 0),
                      0);
        else
            for (const auto& file : std::filesystem::directory_iterator(path_))
                if (file.path().filename().native().starts_with("pool-"))
                    std::ofstream(file.path()) << value;
    }
    // Returns the bytes of the record.
    [[nodiscard]] std::string stored() const {
        std::string bytes(max_pool_attribute_size, '\0');
        if (has_attributes()) {
            const auto size =
                ::getxattr(part_.path().c_str(), pool_attribute_name, bytes.data(), bytes.size());
            return bytes.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
        }
        for (const auto& file : std::filesystem::directory_iterator(path_))
            if (file.path().filename().native().starts_with("pool-"))
                return test::read_file(file.path());
        return {};
    }
    void forget() const {
        if (has_attributes())
            ASSERT_EQ(::removexattr(part_.path().c_str(), pool_attribute_name), 0);
        else
            for (const auto& file : std::filesystem::directory_iterator(path_))
                if (file.path().filename().native().starts_with("pool-"))
                    std::filesystem::remove(file.path());
    }

    // Starts a session of the initiator WHO.
    Attempt attempt(unsigned char who, std::uint64_t generation, const PoolUse& use,
                    bool read_only = false) {
        last_.emplace(path_, read_only, Log());
        Attempt result{
            last_->enter({.owner = digest_of(who),
                          .generation = generation,
                          .initiator = {.host = "host", .user = fmt::format("{}", who)}}),
            {},
            {}};
        if (result.entered)
            result.took_up = last_->adopt(use, knows_states_);
        result.notices = last_->take_notices();
        return result;
    }
    static void expect_silent(const Attempt& attempt) {
        EXPECT_TRUE(succeeded(attempt.entered));
        EXPECT_TRUE(succeeded(attempt.took_up));
        EXPECT_TRUE(attempt.notices.empty()) << attempt.notices.at(0);
    }

    const PartFile part_ = make_part(temporary_.path() / "a.0");
    PoolUse use_{.pool_set = "/pools/a.set",
                 .parts = {{"/pools/a.0", 7, 70, 1}, {"/pools/a.1", 7, 71, 1}},
                 .attribute = PoolAttribute(part_),
                 .headers = std::vector<PoolHeader>(2)};
    std::optional<Registration> last_;
    bool knows_states_ = false; // whether the initiators know states
};

} // namespace rpmem::target
