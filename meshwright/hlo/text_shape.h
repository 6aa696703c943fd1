// Shapes in HLO text.
//
//   f32[8,<=128]{1,0:T(8,128)}    (s32[], /*index=1*/bf16[4]{0})    token[]
#ifndef MESHWRIGHT_HLO_TEXT_SHAPE_H_
#define MESHWRIGHT_HLO_TEXT_SHAPE_H_

#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// Arrays without a layout get the row-major one. Every array is valid (see
// IsValid), unless the lexer has failed.
Shape ReadShapeText(TextLexer& lexer);

// Whether a shape comes next, rather than a name.
bool NextIsShape(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_SHAPE_H_
