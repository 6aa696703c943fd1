#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> FftFactors(const Instruction&) { return std::nullopt; }
std::optional<Rule> CholeskyFactors(const Instruction&) { return std::nullopt; }
std::optional<Rule> TriangularSolveFactors(const Instruction&) {
  return std::nullopt;
}

}  // namespace meshwright
