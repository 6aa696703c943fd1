#include "meshwright/base/text_cursor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::EndsWith;

TEST(TextCursorTest, ReadsTokensWithoutBlanks) {
  TextCursor cursor(" [ data.1 ,42 \"a b\"] ");
  EXPECT_TRUE(cursor.Take("["));
  EXPECT_FALSE(cursor.Take("["));
  EXPECT_EQ(*cursor.Name("a name"), "data.1");
  EXPECT_TRUE(cursor.Expect(",").ok());
  EXPECT_TRUE(cursor.NextIsDigit());
  EXPECT_EQ(*cursor.Number(), 42);
  EXPECT_TRUE(cursor.NextIs("\""));
  EXPECT_EQ(*cursor.Quoted(), "a b");
  EXPECT_FALSE(cursor.AtEnd());
  EXPECT_TRUE(cursor.Take("]"));
  EXPECT_TRUE(cursor.AtEnd());
  EXPECT_TRUE(cursor.ExpectEnd().ok());
  EXPECT_FALSE(cursor.NextIsDigit());
}

TEST(TextCursorTest, ErrorsSayWhatWasExpectedWhere) {
  TextCursor cursor("[x");
  EXPECT_EQ(cursor.Expect("(").message(), "expected '(' before '[x'");
  EXPECT_EQ(cursor.Name("an axis").status().message(),
            "expected an axis before '[x'");
  EXPECT_EQ(cursor.Number().status().message(),
            "expected a number before '[x'");
  EXPECT_EQ(cursor.ExpectEnd().message(), "expected nothing before '[x'");
  EXPECT_EQ(TextCursor("\"open").Quoted().status().message(),
            "expected '\"' at the end");
  EXPECT_FALSE(TextCursor("99999999999999999999").Number().ok());
  // Long texts are cut.
  EXPECT_THAT(TextCursor(std::string(1000, 'x')).Where(),
              EndsWith(std::string(60, 'x') + "'"));
}

}  // namespace
}  // namespace meshwright
