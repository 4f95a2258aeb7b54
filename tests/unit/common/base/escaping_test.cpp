// SPDX-License-Identifier: BSD-3-Clause
// Tests put_printable(), which prepares the text that rpmem_errormsg() returns. The test fails if a
// control character, a character that changes the writing direction or malformed UTF-8 reaches the
// terminal, if a printable letter is escaped, or if text that does not fit is cut within a
// character or an escape.
#include "common/base/escaping.hpp"
#include "tests/support/expect.hpp"

#include <array>

namespace rpmem {
namespace {

std::string put(std::string_view text, Charset charset, std::size_t room = 256) {
    std::vector<char> place(room, 'x');
    put_printable(place, text, charset);
    return place.data();
}

TEST(PutPrintable, ControlCharactersAreEscapedInBothCharsets) {
    for (const Charset charset : {Charset::ascii, Charset::utf8}) {
        EXPECT_EQ(put("plain, \"text\" \\ ~", charset), "plain, \"text\" \\ ~");
        EXPECT_EQ(put("a\033[2J\nb\x7f", charset), "a\\x1b[2J\\x0ab\\x7f");
        EXPECT_EQ(put("\x9b"
                      "2J",
                      charset),
                  "\\x9b2J"); // CSI as one byte, for 8-bit terminals
        EXPECT_EQ(put("\xc2\x9b"
                      "2J",
                      charset),
                  "\\xc2\\x9b2J");                                  // CSI in UTF-8
        EXPECT_EQ(put("\xe2\x80\xae", charset), "\\xe2\\x80\\xae"); // right-to-left override
        EXPECT_EQ(put(std::string_view("a\0b", 3), charset), "a\\x00b");
    }
}

TEST(PutPrintable, LettersOfUtf8StayWhereTheLocaleHasThem) {
    const std::string text = "pool \xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80";
    EXPECT_EQ(put(text, Charset::utf8), text);
    EXPECT_EQ(put("\xc3\xa9", Charset::ascii), "\\xc3\\xa9");
}

TEST(PutPrintable, MalformedUtf8IsEscaped) {
    for (const char* text : {"\xc3", "\xc3(", "\xa9", "\xe6\x97", "\xc0\x9b", "\xe0\x82\x9b",
                             "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
        for (const char byte : put(text, Charset::utf8))
            EXPECT_TRUE(byte >= ' ' && byte <= '~') << put(text, Charset::utf8);
}

TEST(PutPrintable, WhatDoesNotFitIsCutBetweenCharacters) {
    EXPECT_EQ(put("abcdef", Charset::ascii, 4), "abc");
    EXPECT_EQ(put("ab\ncd", Charset::ascii, 5), "ab");
    EXPECT_EQ(put("ab\xc3\xa9", Charset::utf8, 4), "ab");
    EXPECT_EQ(put("", Charset::utf8, 1), "");
}

} // namespace
} // namespace rpmem
