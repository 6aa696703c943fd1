// The value of a constant in HLO text: "2", "{{1, 2}, {3, 4}}", "(1, {true})".
#ifndef MESHWRIGHT_HLO_TEXT_LITERAL_H_
#define MESHWRIGHT_HLO_TEXT_LITERAL_H_

#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// Rows in logical order, stored in the order of the shape's layout. Fails on
// "...", numbers that the element type cannot hold, and rows of a wrong size.
// Requires: the shape was read by ReadShapeText.
Literal ReadLiteralText(TextLexer& lexer, const Shape& shape);

// A number as in "epsilon=0.001".
float ReadFloatText(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_LITERAL_H_
