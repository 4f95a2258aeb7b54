// SPDX-License-Identifier: BSD-3-Clause
// Tests what an error of the target means for a program that goes on without it. The test fails if
// the program goes on although the pool has a newer owner, or if an obstacle that may pass ends the
// attempts to reach the target.
#include "librpmem/connection/link.hpp"

#include <gtest/gtest.h>

namespace rpmem::initiator {
namespace {

using Without = Link::WithoutTarget;

TEST(WithoutTarget, EachErrorHasAConsequence) {
    struct Row {
        ErrorClass kind;
        int code;
        Without expected;
    };
    constexpr Row rows[] = {
        {ErrorClass::link_lost, ECONNRESET, Without::goes_on},
        {ErrorClass::link_lost, ETIMEDOUT, Without::goes_on},
        {ErrorClass::caller_fault, EHOSTUNREACH, Without::goes_on}, // a name server that is away
        {ErrorClass::resource_limit, EMFILE, Without::goes_on},
        {ErrorClass::target_refused, EACCES, Without::goes_on},
        {ErrorClass::target_refused, EBUSY, Without::goes_on},
        {ErrorClass::caller_fault, EFAULT, Without::goes_on_for_ever},
        {ErrorClass::medium_failed, EIO, Without::goes_on_for_ever},
        {ErrorClass::target_refused, EBADMSG, Without::goes_on_for_ever},
        {ErrorClass::target_refused, ECONNRESET, Without::goes_on_for_ever},
        {ErrorClass::target_refused, ESTALE, Without::ends},
        {ErrorClass::bug, EINVAL, Without::ends}};
    for (const Row& row : rows)
        EXPECT_EQ(Link::without_target({row.code, row.kind, ""}), row.expected) << row.code;
}

} // namespace
} // namespace rpmem::initiator
