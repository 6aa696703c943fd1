// The value of a constant as HLO text: "2", "{{1, 2}, {3, 4}}", "(1, {true})".
#ifndef MESHWRIGHT_HLO_PRINT_LITERAL_H_
#define MESHWRIGHT_HLO_PRINT_LITERAL_H_

#include <string>

#include "meshwright/hlo/literal.h"

namespace meshwright::internal {

// Rows in logical order, whatever the literal's layout; every element is the
// shortest text that reads back to the same bits, where HLO text can hold them.
// "{...}" for a literal whose data is incomplete, and, unless
// `large_constants`, for one of more than 10 elements.
void AppendLiteral(const Literal& literal, bool large_constants,
                   std::string* out);

// "0.1", "1e+20", "-inf", "nan".
void AppendFloat(float value, std::string* out);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PRINT_LITERAL_H_
