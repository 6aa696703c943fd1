// Windows, dimension numbers and the like as values of HLO attributes: what
// print_dimension_numbers.h prints.
#ifndef MESHWRIGHT_HLO_TEXT_DIMENSION_NUMBERS_H_
#define MESHWRIGHT_HLO_TEXT_DIMENSION_NUMBERS_H_

#include <vector>

#include "meshwright/hlo/dimension_numbers.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

// "{size=3x3 stride=2x2 pad=1_1x1_1}".
Window ReadWindow(TextLexer& lexer);
// "b01f_01io->b01f".
ConvolutionDimensionNumbers ReadDimLabels(TextLexer& lexer);
// "0_1x2_2_1".
PaddingConfig ReadPadding(TextLexer& lexer);
// "{[0:4], [1:9:2]}".
std::vector<SliceDimension> ReadSlice(TextLexer& lexer);
// "{{0,1},{1,0}}".
std::vector<SourceTarget> ReadSourceTargets(TextLexer& lexer);
// "{{0}: (1, {})}".
std::vector<OutputOperandAliasing> ReadOperandAliasing(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_DIMENSION_NUMBERS_H_
