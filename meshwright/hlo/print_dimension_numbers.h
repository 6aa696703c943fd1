// Windows, dimension numbers and the like as the values of HLO attributes.
#ifndef MESHWRIGHT_HLO_PRINT_DIMENSION_NUMBERS_H_
#define MESHWRIGHT_HLO_PRINT_DIMENSION_NUMBERS_H_

#include <string>
#include <vector>

#include "meshwright/hlo/dimension_numbers.h"

namespace meshwright::internal {

// "{0,2}".
void AppendList(const std::vector<int64_t>& values, std::string* out);

// "{size=3x3 stride=2x2 pad=1_1x1_1}".
void AppendWindow(const Window& window, std::string* out);
// "b01f_01io->b01f", '?' where no number points.
void AppendDimLabels(const ConvolutionDimensionNumbers& numbers,
                     std::string* out);
// "0_1x2_2_1": low, high and, if any is not 0, interior of each dimension.
void AppendPadding(const PaddingConfig& padding, std::string* out);
// "{[0:4], [1:9:2]}".
void AppendSlice(const std::vector<SliceDimension>& slice, std::string* out);
// "{{0,1},{2,3}}".
void AppendGroups(const std::vector<std::vector<int64_t>>& groups,
                  std::string* out);
// "{{0,1},{1,0}}".
void AppendSourceTargets(const std::vector<SourceTarget>& pairs,
                         std::string* out);
// "{{0}: (1, {})}": output {0} is in the memory of operand 1.
void AppendOperandAliasing(const std::vector<OutputOperandAliasing>& aliases,
                           std::string* out);

// The attributes themselves, each with ", " in front:
// ", lhs_contracting_dims={1}, rhs_contracting_dims={0}".
void AppendDot(const DotDimensionNumbers& numbers, std::string* out);
void AppendGather(const GatherDimensionNumbers& numbers, std::string* out);
void AppendScatter(const ScatterDimensionNumbers& numbers, std::string* out);
void AppendPrecision(const PrecisionConfig& precision, std::string* out);
void AppendTriangularSolve(const TriangularSolveOptions& options,
                           std::string* out);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PRINT_DIMENSION_NUMBERS_H_
