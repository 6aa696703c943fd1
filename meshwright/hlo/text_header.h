// The first line of a module in HLO text:
//
//   HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (1, {}) }
#ifndef MESHWRIGHT_HLO_TEXT_HEADER_H_
#define MESHWRIGHT_HLO_TEXT_HEADER_H_

#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// A module with the properties in that line and in the stack frame tables that
// may follow.
Module ReadHeader(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_HEADER_H_
