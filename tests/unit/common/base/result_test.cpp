// SPDX-License-Identifier: BSD-3-Clause
// Tests RPMEM_TRY, RPMEM_ASSIGN and in_context() on temporaries, on results that are kept, and on
// expected types with another error type. The test fails if a macro continues after an error, if it
// copies the value or the error of a temporary, or if the text of an error changes on its way. It
// does not compile if a macro cannot be used twice in a function, with commas or within a lambda.
#include "tests/support/expect.hpp"

#include <type_traits>

namespace rpmem {
namespace {

// Too long for the small string optimisation, so its address shows whether the text was moved.
constexpr const char* long_text =
    "the name of a file that is too long to be kept in the string itself";

Error error_of(std::string text) { return {EIO, ErrorClass::medium_failed, std::move(text)}; }

Result<std::unique_ptr<int>> make(int value) {
    if (value < 0)
        return fail(ErrorClass::caller_fault, EINVAL, "{} is negative", value);
    return std::make_unique<int>(value);
}

struct Counted {
    Counted() = default;
    Counted(const Counted& other) : copies(other.copies + 1), moves(other.moves) {}
    Counted(Counted&& other) noexcept : copies(other.copies), moves(other.moves + 1) {}
    Counted& operator=(const Counted&) = default;
    Counted& operator=(Counted&&) = default;
    ~Counted() = default;

    int copies = 0;
    int moves = 0;
};

TEST(Result, TryGoesOnWithASuccess) {
    const auto both = [](int first, int second) -> Result<int> {
        RPMEM_TRY(make(first));
        RPMEM_TRY(Result<>());
        if (second != 0)
            RPMEM_TRY(make(second));
        else
            return 0;
        return 2;
    };
    EXPECT_EQ(both(1, 2), 2);
    EXPECT_EQ(both(1, 0), 0);
    EXPECT_EQ(both(-1, -2).error().text, "-1 is negative");
    EXPECT_EQ(both(1, -2).error().text, "-2 is negative");
}

TEST(Result, AssignDeclares) {
    const auto sum = [](int first, int second) -> Result<int> {
        RPMEM_ASSIGN(auto one, make(first));
        RPMEM_ASSIGN(const std::unique_ptr<int> other, make(second));
        return *one + *other;
    };
    EXPECT_EQ(sum(1, 2), 3);
    EXPECT_EQ(sum(-1, 2).error().text, "-1 is negative");
    EXPECT_EQ(sum(1, -2).error().code, EINVAL);
    EXPECT_EQ(sum(1, -2).error().kind, ErrorClass::caller_fault);
}

TEST(Result, AssignSetsWhatIsThere) {
    struct {
        std::unique_ptr<int> member;
        std::array<std::unique_ptr<int>, 2> elements;
    } place;
    const auto set = [&](int member, int element) -> Result<> {
        RPMEM_ASSIGN(place.member, make(member));
        for (auto& each : place.elements) {
            RPMEM_ASSIGN(each, make(element));
        }
        return {};
    };
    EXPECT_TRUE(set(1, 2));
    EXPECT_EQ(*place.member, 1);
    EXPECT_EQ(*place.elements[1], 2);
    EXPECT_FALSE(set(3, -1));
    EXPECT_EQ(*place.member, 3);
    EXPECT_EQ(*place.elements[0], 2) << "what failed has changed it";
}

TEST(Result, TakesExpressionsWithCommas) {
    const auto total = []() -> Result<int> {
        RPMEM_ASSIGN(const auto pair, Result<std::pair<int, int>>(std::pair<int, int>{1, 2}));
        RPMEM_TRY(Result<std::pair<int, int>>(pair));
        return pair.first + pair.second;
    };
    EXPECT_EQ(total(), 3);
}

TEST(Result, LambdasInsideHaveTheirOwn) {
    const auto outer = [](int value) -> Result<int> {
        RPMEM_ASSIGN(const int inner, [&]() -> Result<int> {
            RPMEM_ASSIGN(const auto made, make(value));
            return *made;
        }());
        return inner + 1;
    };
    EXPECT_EQ(outer(1), 2);
    EXPECT_FALSE(outer(-1));
}

TEST(Result, AnOptionalStaysOne) {
    const auto taken = [](std::optional<int> value) -> Result<std::optional<int>> {
        RPMEM_ASSIGN(auto inside, Result<std::optional<int>>(value));
        return inside;
    };
    EXPECT_EQ(taken(1).value(), 1);
    EXPECT_EQ(taken(std::nullopt).value(), std::nullopt);
}

TEST(Result, ValuesAreMovedOnce) {
    const auto counted = []() -> Result<Counted> { return Counted(); };
    const auto out = [&]() -> Result<std::pair<int, int>> {
        RPMEM_ASSIGN(const auto value, counted());
        return std::pair(value.copies, value.moves);
    };
    const auto in_place = [&]() -> Result<std::pair<int, int>> {
        RPMEM_ASSIGN(auto&& value, counted());
        static_assert(std::is_same_v<decltype(value), Counted&&>);
        return std::pair(value.copies, value.moves);
    };
    EXPECT_EQ(out(), std::pair(0, 2)); // moved into the result, and out of it
    EXPECT_EQ(in_place(), std::pair(0, 1));
}

TEST(Result, ErrorsAreMoved) {
    Error error = error_of(long_text);
    const char* const address = error.text.data();
    const auto failing = [&]() -> Result<> { return Failure(std::move(error)); };
    const auto by_try = [&]() -> Result<int> {
        RPMEM_TRY(failing());
        return 0;
    };
    const auto by_assign = [&]() -> Result<> {
        RPMEM_ASSIGN(const int value, by_try());
        static_cast<void>(value);
        return {};
    };
    const Result<> result = by_assign();
    EXPECT_EQ(result.error().text, long_text);
    EXPECT_EQ(result.error().text.data(), address);
}

TEST(Result, WhatIsKeptIsLeftAsItIs) {
    Result<std::unique_ptr<int>> kept = make(7);
    Result<std::unique_ptr<int>> failed = Failure(error_of(long_text));
    const auto look = [](Result<std::unique_ptr<int>>& result) -> Result<const int*> {
        RPMEM_TRY(result);
        RPMEM_ASSIGN(const auto& value, result);
        return value.get();
    };
    const int* const value = kept->get();
    EXPECT_EQ(look(kept), value);
    EXPECT_EQ(kept->get(), value);
    EXPECT_EQ(look(failed).error().text, long_text);
    EXPECT_EQ(failed.error().text, long_text);
}

TEST(Result, OtherErrorsArePassedOnAsTheyAre) {
    const auto outer = [](bool works) -> tl::expected<std::string, int> {
        const auto inner = [&]() -> tl::expected<int, int> {
            if (works)
                return 1;
            return tl::unexpected(2);
        };
        RPMEM_TRY(inner());
        RPMEM_ASSIGN(const int value, inner());
        return std::to_string(value);
    };
    EXPECT_EQ(outer(true), "1");
    EXPECT_EQ(outer(false).error(), 2);
}

TEST(Result, AContextIsOnlyForErrors) {
    EXPECT_EQ(**in_context("making it", make(1)), 1);
    EXPECT_TRUE(in_context("doing it", Result<>()));
    const auto failed = in_context("making it", make(-1));
    EXPECT_EQ(failed.error().text, "making it: -1 is negative");
    EXPECT_EQ(failed.error().code, EINVAL);
    EXPECT_EQ(failed.error().kind, ErrorClass::caller_fault);
}

} // namespace
} // namespace rpmem
