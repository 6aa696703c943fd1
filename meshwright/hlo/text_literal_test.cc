// Shapes and constants of HLO text.
#include "meshwright/hlo/text_literal.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_literal.h"
#include "meshwright/hlo/text_shape.h"

namespace meshwright::internal {
namespace {

using testing::HasSubstr;

// What the text reads as, printed again; or the error.
std::string ShapeAgain(const std::string& text) {
  TextLexer lexer(text);
  const Shape shape = ReadShapeText(lexer);
  if (!lexer.AtEnd()) lexer.FailExpected("the end");
  if (!lexer.ok()) return std::string(lexer.status().message());
  return shape.ToString(/*with_layout=*/true);
}

std::string LiteralAgain(const std::string& shape, const std::string& text) {
  const std::string whole = absl::StrCat(shape, " ", text);
  TextLexer lexer(whole);
  const Shape read = ReadShapeText(lexer);
  const Literal literal = ReadLiteralText(lexer, read);
  if (!lexer.AtEnd()) lexer.FailExpected("the end");
  if (!lexer.ok()) return std::string(lexer.status().message());
  std::string out;
  AppendLiteral(literal, /*large_constants=*/true, &out);
  return out;
}

TEST(TextShapeTest, ShapesReadAsTheyPrint) {
  for (const char* text :
       {"f32[]", "f32[4]{0}", "bf16[8,128]{1,0}", "pred[2,3]{0,1}",
        "f32[8,128]{1,0:T(8,128)(2,1)}", "f32[8]{0:S(5)}", "s4[8]{0:E(4)}",
        "f32[8,16]{1,0:T(8,128)E(4)S(1)}", "f32[<=8,4]{1,0}", "token[]",
        "opaque[]", "()", "(s32[], (f32[2]{0}, token[]))",
        "f8e4m3b11fnuz[2]{0}", "f32[0]{0}"}) {
    EXPECT_EQ(ShapeAgain(text), text);
  }
}

TEST(TextShapeTest, OtherSpellings) {
  EXPECT_EQ(ShapeAgain("f32[2,3]"), "f32[2,3]{1,0}");
  EXPECT_EQ(ShapeAgain("f32[]{}"), "f32[]");
  EXPECT_EQ(ShapeAgain("f32[]{:T(128)}"), "f32[]");
  EXPECT_EQ(ShapeAgain("f32[8]{0:T(256)L(512)S(1)}"), "f32[8]{0:T(256)S(1)}");
  EXPECT_EQ(ShapeAgain("( f32[1 , 2] {0, 1} ,/*index=1*/s32[ ] )"),
            "(f32[1,2]{0,1}, s32[])");
  EXPECT_EQ(ShapeAgain("f32[4,<=8]{1,0}"), "f32[4,<=8]{1,0}");
}

TEST(TextShapeTest, Errors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"g32[4]", "column 1: 'g32' is no element type"},
      {"tuple[]", "'tuple' is no element type"},
      {"4", "expected a shape, got '4'"},
      {"f32[4", "expected ']', got the end of the text"},
      {"f32[-4]", "negative dimension"},
      {"f32[?]", "without a bound"},
      {"f32[4]{1}", "not a permutation"},
      {"f32[4]{0:X(1)}", "expected T, L, E or S of a layout, got 'X'"},
      {"f32[4611686018427387904,4]", "overflows"},
      {"token[3]", "cannot have dimensions"},
      {std::string(65, '('), "nested more than 64 deep"},
      {std::string(1000000, '('), "nested more than 64 deep"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(ShapeAgain(text), HasSubstr(error)) << text.substr(0, 80);
  }
  std::string wide = "f32[1";
  for (int i = 0; i < 300; ++i) wide += ",1";
  EXPECT_THAT(ShapeAgain(wide + "]"), HasSubstr("at most 256 dimensions"));
}

TEST(TextLiteralTest, ConstantsReadAsTheyPrint) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"f32[]", "0.1"},
      {"f32[]", "-0.0"},
      {"f32[3]{0}", "{inf, -inf, nan}"},
      {"f32[3]{0}", "{-nan, nan(0x1), -nan(0x7fffff)}"},
      {"f64[2]{0}", "{1e+300, 5e-324}"},
      {"bf16[2]{0}", "{1.5, 3.39e+38}"},
      {"f8e4m3fn[3]{0}", "{448, -0.0, nan}"},
      {"f8e8m0fnu[2]{0}", "{1, nan}"},
      {"f4e2m1fn[2]{0}", "{-6, 0.5}"},
      {"s64[2]{0}", "{-9223372036854775808, 9223372036854775807}"},
      {"u64[1]{0}", "{18446744073709551615}"},
      {"s4[2]{0}", "{-8, 7}"},
      {"u4[1]{0}", "{15}"},
      {"s8[2]{0}", "{-128, 127}"},
      {"pred[]", "true"},
      {"pred[2,2]{1,0}", "{{true, false}, {false, true}}"},
      {"c64[2]{0}", "{(1, -2.5), (inf, nan)}"},
      {"c128[]", "(0.1, 1e-300)"},
      {"f32[2,3]{0,1}", "{{1, 2, 3}, {4, 5, 6}}"},
      {"f32[0]{0}", "{}"},
      {"f32[2,0]{1,0}", "{{}, {}}"},
      {"(s32[], (f32[2]{0}, pred[]))", "(1, ({1, 2}, true))"},
  };
  for (const auto& [shape, text] : cases) {
    EXPECT_EQ(LiteralAgain(shape, text), text) << shape;
  }
}

TEST(TextLiteralTest, OtherSpellings) {
  EXPECT_EQ(LiteralAgain("pred[2]{0}", "{1, 0}"), "{true, false}");
  EXPECT_EQ(LiteralAgain("f32[]", "0x1.8p3"), "12");
  EXPECT_EQ(LiteralAgain("f32[]", "-0x1p-149"), "-1e-45");
  EXPECT_EQ(LiteralAgain("f32[]", "1e-60"), "0");
  EXPECT_EQ(LiteralAgain("f64[]", "1e-400"), "0");
  EXPECT_EQ(LiteralAgain("f32[2,1]{1,0}", "{ /*i0=0*/ {1}, /*i0=1*/ {2} }"),
            "{{1}, {2}}");
}

TEST(TextLiteralTest, DataIsInTheOrderOfTheLayout) {
  const std::string text = "{{1, 2, 3}, {4, 5, 6}}";
  TextLexer lexer(text);
  Shape shape = Shape::Array(ElementType::kS32, {2, 3});
  shape.layout.emplace().minor_to_major = {0, 1};
  const Literal literal = ReadLiteralText(lexer, shape);
  EXPECT_THAT(literal.Values<int32_t>(),
              testing::ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(TextLiteralTest, Errors) {
  const struct {
    std::string shape, text, error;
  } cases[] = {
      {"f32[20]{0}", "{...}", "leaves this constant out"},
      {"f32[1000000]{0}", "{...}", "leaves this constant out"},
      {"f32[2,2]{1,0}", "{{1, 2}, {...}}", "leaves this constant out"},
      {"f32[1000000000000]{0}", "{1}", "expected 1000000000000 values"},
      {"f32[2]{0}", "{1}",
       "expected 2 values along dimension 0 of f32[2], got 1"},
      {"f32[2]{0}", "{1, 2, 3}", "got more"},
      {"f32[2]{0}", "1, 2", "expected '{', got '1'"},
      {"f32[2]{0}", "{1 2}", "expected '}', got '2'"},
      {"f32[]", "1e39", "'1e39' is no value of f32"},
      {"f64[]", "1e400", "'1e400' is no value of f64"},
      {"f32[]", "1.5x", "'1.5x' is no value of f32"},
      {"f32[]", "--1", "'--1' is no value of f32"},
      {"f32[]", "nan(1)", "expected the bits of a NaN"},
      {"f8e4m3fn[]", "inf", "'inf' is no value of f8e4m3fn"},
      {"s32[]", "1.5", "'1.5' is no value of s32"},
      {"s8[]", "128", "'128' is no value of s8"},
      {"u8[]", "-1", "'-1' is no value of u8"},
      {"u64[]", "-1", "'-1' is no value of u64"},
      {"u2[]", "4", "'4' is no value of u2"},
      {"s32[]", "true", "'true' is no value of s32"},
      {"pred[]", "2", "'2' is no value of pred"},
      {"c64[]", "1", "expected '(', got '1'"},
      {"token[]", "1", "token[] has no constants"},
      {"(f32[], f32[])", "(1)", "expected ',', got ')'"},
  };
  for (const auto& [shape, text, error] : cases) {
    EXPECT_THAT(LiteralAgain(shape, text), HasSubstr(error))
        << shape << " " << text;
  }
}

}  // namespace
}  // namespace meshwright::internal
