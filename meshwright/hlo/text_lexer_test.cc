#include "meshwright/hlo/text_lexer.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextLexerTest, TakesTokensAndSkipsBlanksAndComments) {
  TextLexer lexer("  %x.1-a = /* 1 */ b // to the end\n\t->c,d");
  EXPECT_EQ(lexer.Name(), "x.1-a");
  EXPECT_TRUE(lexer.Take("="));
  EXPECT_FALSE(lexer.Take(","));
  EXPECT_EQ(lexer.NextWord(), "b");
  EXPECT_FALSE(lexer.TakeWord("bb"));
  EXPECT_TRUE(lexer.TakeWord("b"));
  lexer.Expect("->");
  EXPECT_EQ(lexer.Word("a word"), "c");
  lexer.Expect(",");
  EXPECT_EQ(lexer.Word("a word"), "d");
  EXPECT_TRUE(lexer.AtEnd());
  EXPECT_TRUE(lexer.ok()) << lexer.status();
}

TEST(TextLexerTest, WordsEndBeforeArrows) {
  TextLexer lexer("a-b->c");
  EXPECT_EQ(lexer.Word("a word"), "a-b");
  EXPECT_TRUE(lexer.NextIs("->"));
}

TEST(TextLexerTest, NumbersAndLists) {
  TextLexer lexer("-3 {1, 2,/*index=2*/3} {} [4] 9223372036854775807 true");
  EXPECT_EQ(lexer.Integer(), -3);
  EXPECT_THAT(lexer.Integers(), ElementsAre(1, 2, 3));
  EXPECT_THAT(lexer.Integers(), IsEmpty());
  EXPECT_THAT(lexer.Integers("[", "]"), ElementsAre(4));
  EXPECT_EQ(lexer.Integer(), INT64_MAX);
  EXPECT_TRUE(lexer.Flag());
  EXPECT_TRUE(lexer.ok()) << lexer.status();
}

TEST(TextLexerTest, StringsAndDictionaries) {
  TextLexer lexer(R"("a \"b\"\n\303\244" {"k":{"v":"}"}} 'single')");
  EXPECT_EQ(lexer.Quoted(), "a \"b\"\n\xc3\xa4");
  EXPECT_EQ(lexer.StringOrDict(), R"({"k":{"v":"}"}})");
  EXPECT_EQ(lexer.StringOrDict(), "single");
  EXPECT_TRUE(lexer.AtEnd());
}

TEST(TextLexerTest, SkipsValues) {
  TextLexer lexer(R"({a={"}"}} [1,2] (x) "s" -1.5e+3 word;)");
  for (int i = 0; i < 6; ++i) lexer.SkipValue();
  EXPECT_TRUE(lexer.NextIs(";"));
  EXPECT_TRUE(lexer.ok()) << lexer.status();
}

struct ErrorCase {
  std::string text;
  void (*read)(TextLexer& lexer);
  std::string error;
};

TEST(TextLexerTest, ErrorsSayWhereAndWhat) {
  const std::vector<ErrorCase> cases = {
      {"a\n b", [](TextLexer& l) { l.Word(""), l.Expect("="); },
       "line 2, column 2: expected '=', got 'b'"},
      {" ", [](TextLexer& l) { l.Word("a name"); },
       "line 1, column 2: expected a name, got the end of the text"},
      {"\x01", [](TextLexer& l) { l.Word("a name"); },
       "line 1, column 1: expected a name, got '\\x01'"},
      {"9223372036854775808", [](TextLexer& l) { l.Integer(); },
       "line 1, column 1: '9223372036854775808' is no whole number of 64 "
       "bits"},
      {"2147483648", [](TextLexer& l) { l.SmallInteger(); },
       "line 1, column 1: the number does not fit 32 bits"},
      {"x", [](TextLexer& l) { l.Integer(); },
       "line 1, column 1: expected a whole number, got 'x'"},
      {"maybe", [](TextLexer& l) { l.Flag(); },
       "line 1, column 1: expected true or false, got 'maybe'"},
      {"{1,2", [](TextLexer& l) { l.Integers(); },
       "line 1, column 5: expected '}', got the end of the text"},
      {"\"a\\\"", [](TextLexer& l) { l.Quoted(); },
       "line 1, column 1: the string has no end"},
      {"{a{}", [](TextLexer& l) { l.StringOrDict(); },
       "line 1, column 1: '{' is not closed"},
      {"x /* y", [](TextLexer& l) { l.Word(""), l.AtEnd(); },
       "line 1, column 3: the comment has no end"},
      {";", [](TextLexer& l) { l.SkipValue(); },
       "line 1, column 1: expected a value, got ';'"},
  };
  for (const auto& [text, read, error] : cases) {
    TextLexer lexer(text);
    read(lexer);
    EXPECT_EQ(lexer.status().message(), error) << text;
  }
}

TEST(TextLexerTest, TheFirstErrorStaysAndEndsTheText) {
  TextLexer lexer("a b");
  lexer.Expect("=");
  lexer.Expect(",");
  EXPECT_EQ(lexer.status().message(),
            "line 1, column 1: expected '=', got 'a'");
  EXPECT_TRUE(lexer.AtEnd());
  EXPECT_EQ(lexer.Word("a word"), "");
  EXPECT_EQ(lexer.Integer(), 0);
}

}  // namespace
}  // namespace meshwright::internal
