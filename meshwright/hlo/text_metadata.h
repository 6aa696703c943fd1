// Reads the provenance of a program from HLO text: metadata of instructions,
// frontend attributes, and the module's stack frame tables.
#ifndef MESHWRIGHT_HLO_TEXT_METADATA_H_
#define MESHWRIGHT_HLO_TEXT_METADATA_H_

#include <string>

#include "meshwright/hlo/instruction.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// {op_type="dot" op_name="jit(f)/dot" source_file="f.py" source_line=3};
// other fields are skipped.
Metadata ReadMetadataText(TextLexer& lexer);

// {a="b",c={x}}.
FrontendAttributes ReadFrontendAttributesText(TextLexer& lexer);

// The tables FileNames, FunctionNames, FileLocations and StackFrames, as the
// field of the module that SourceLine looks up; empty if there are none.
std::string ReadStackFrames(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_METADATA_H_
