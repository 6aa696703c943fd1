// Test support: a kernel of XLA's FFI that computes whatever its letters say.
//
//   {tensors = "ab,(bc)d->ac,a", reduction = "sum", whole = "c", apart = "",
//    layouts = "01,10"}
//
// Each dimension is a letter, or several in parentheses. An element of a
// result is a sum (max, min, product) of small integers, over all letters that
// the result has not, of terms that combine one element of every operand. So
// letters may be split that results have, and over others results add up, bit
// for bit; but not `whole` ones: along these a kernel looks at positions, and
// at other places of the first operand. Results without a letter that is
// `apart` do not depend on operands that have it. Layouts are those of the
// operands, minor dimension first; results are row-major.
#ifndef MESHWRIGHT_TESTS_RULES_LETTER_KERNEL_H_
#define MESHWRIGHT_TESTS_RULES_LETTER_KERNEL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/engine/ffi.h"

namespace meshwright {

using TensorLetters = std::vector<std::string>;  // By dimension, major first.

struct KernelLetters {
  std::vector<TensorLetters> operands;
  std::vector<TensorLetters> results;
};

absl::StatusOr<KernelLetters> ParseLetters(absl::string_view text);
std::string ToString(const KernelLetters& letters);

inline constexpr char kLetterKernel[] = "mw_test_letters";
absl::Status RunLetterKernel(const FfiCall& call);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_LETTER_KERNEL_H_
