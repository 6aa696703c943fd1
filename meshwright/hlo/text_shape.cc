#include "meshwright/hlo/text_shape.h"

#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/text_fields.h"

namespace meshwright::internal {
namespace {

// A field of the schema's LayoutProto that is preserved but not interpreted.
constexpr int kTailPadding = 16;

// No real program has deeper tuples.
constexpr int kMaxTupleDepth = 64;

Layout RowMajor(int64_t rank) {
  Layout layout;
  layout.minor_to_major.resize(rank);
  std::iota(layout.minor_to_major.rbegin(), layout.minor_to_major.rend(), 0);
  return layout;
}

// "(8,128)(2,1)"; '*' is XLA's mark for a dimension joined with the next.
std::vector<std::vector<int64_t>> ReadTiles(TextLexer& lexer) {
  std::vector<std::vector<int64_t>> tiles;
  while (lexer.NextIs("(")) {
    std::vector<int64_t>& tile = tiles.emplace_back();
    lexer.List("(", ")", [&] {
      tile.push_back(lexer.Take("*") ? std::numeric_limits<int64_t>::min()
                                     : lexer.Integer());
    });
  }
  return tiles;
}

int64_t ReadInParentheses(TextLexer& lexer) {
  lexer.Expect("(");
  const int64_t value = lexer.Integer();
  lexer.Expect(")");
  return value;
}

Layout ReadLayout(TextLexer& lexer) {
  Layout layout;
  lexer.Expect("{");
  if (lexer.NextIsDigit()) {
    do {
      layout.minor_to_major.push_back(lexer.Integer());
    } while (lexer.Take(","));
  }
  if (lexer.Take(":")) {
    while (lexer.ok() && !lexer.NextIs("}")) {
      if (lexer.TakeWord("T")) {
        layout.tiles = ReadTiles(lexer);
      } else if (lexer.TakeWord("E")) {
        layout.element_size_in_bits = ReadInParentheses(lexer);
      } else if (lexer.TakeWord("S")) {
        layout.memory_space = ReadInParentheses(lexer);
      } else if (lexer.TakeWord("L")) {
        AddField(kTailPadding, ReadInParentheses(lexer), layout.unknown_fields);
      } else {
        lexer.FailExpected("T, L, E or S of a layout");
      }
    }
  }
  lexer.Expect("}");
  return layout;
}

// A brace after a shape may also begin a computation or a literal. A literal of
// an array without layout cannot be distinguished from a layout; XLA does not,
// either.
bool NextIsLayout(TextLexer& lexer) {
  if (!lexer.NextIs("{")) return false;
  TextLexer ahead = lexer;
  ahead.Take("{");
  return ahead.NextIsDigit() || ahead.Next() == ':' || ahead.Next() == '}';
}

void ReadDimension(TextLexer& lexer, Shape& shape) {
  const bool dynamic = lexer.Take("<=");
  if (lexer.NextIs("?")) {
    lexer.Fail("dimensions without a bound ('?') are not supported");
  }
  shape.dimensions.push_back(lexer.Integer());
  if (dynamic) shape.dynamic_dimensions.resize(shape.dimensions.size());
  if (!shape.dynamic_dimensions.empty()) {
    shape.dynamic_dimensions.resize(shape.dimensions.size());
    shape.dynamic_dimensions.back() = dynamic;
  }
}

Shape ReadArray(TextLexer& lexer) {
  const size_t start = lexer.position();
  Shape shape;
  const absl::string_view name = lexer.Word("a shape");
  const std::optional<ElementType> type = ParseElementType(name);
  if (!type.has_value() || *type == ElementType::kTuple ||
      *type == ElementType::kBuffer) {
    lexer.FailAt(start, absl::StrCat("'", name, "' is no element type"));
    return shape;
  }
  shape.element_type = *type;
  lexer.List("[", "]", [&] { ReadDimension(lexer, shape); });
  if (shape.rank() > kMaxRank) {
    lexer.FailAt(start,
                 absl::StrCat("a shape has at most ", kMaxRank, " dimensions"));
  }
  if (NextIsLayout(lexer)) {
    shape.layout = ReadLayout(lexer);
  } else if (shape.IsArray()) {
    shape.layout = RowMajor(shape.rank());
  }
  std::string why;
  if (lexer.ok() && !IsValid(shape, &why)) {
    lexer.FailAt(start, absl::StrCat("the shape is not valid: ", why));
  }
  return shape;
}

Shape ReadShape(TextLexer& lexer, int depth) {
  if (!lexer.NextIs("(")) return ReadArray(lexer);
  std::vector<Shape> elements;
  if (depth == kMaxTupleDepth) {
    lexer.Fail(absl::StrCat("tuples are nested more than ", depth, " deep"));
  }
  lexer.List("(", ")",
             [&] { elements.push_back(ReadShape(lexer, depth + 1)); });
  return Shape::Tuple(std::move(elements));
}

}  // namespace

Shape ReadShapeText(TextLexer& lexer) { return ReadShape(lexer, 0); }

bool NextIsShape(TextLexer& lexer) {
  if (lexer.NextIs("(")) return true;
  const absl::string_view word = lexer.NextWord();
  if (word.empty()) return false;
  TextLexer ahead = lexer;
  ahead.Word("a shape");
  return ahead.NextIs("[");
}

}  // namespace meshwright::internal
