// The first line of a module in HLO text:
//
//   HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (1, {}) }
#ifndef MESHWRIGHT_HLO_TEXT_HEADER_H_
#define MESHWRIGHT_HLO_TEXT_HEADER_H_

#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// A module with what the line says, and with the tables of stack frames that
// may follow.
Module ReadHeader(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_HEADER_H_
