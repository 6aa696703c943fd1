// Calls of Transformer Engine's matmuls as whole operations: which ones there
// are, what their attributes say, and what they compute. Their sharding rules
// are in library_gemm.h and grouped_gemm.h.
#ifndef MESHWRIGHT_RULES_GEMM_CALLS_H_
#define MESHWRIGHT_RULES_GEMM_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

bool IsLibraryGemm(const Instruction& instruction);
bool IsGroupedGemm(const Instruction& instruction);

// 0 for another instruction, or one in an unknown form.
double LibraryGemmFlops(const Instruction& instruction);
double GroupedGemmFlops(const Instruction& instruction);

// Operands of both kinds.
inline constexpr int32_t kGemmLhs = 0;
inline constexpr int32_t kGemmRhs = 2;
// Of grouped ones: sizes of groups along the first dimension of lhs, of rhs and
// of the output, each followed by those along the last.
inline constexpr int32_t kGroupSizes = 5;
inline constexpr int32_t kOtherGroupSizes = 7;
inline constexpr int32_t kOutputGroupSizes = 9;
inline constexpr int32_t kGroupSizesEnd = 11;

// `name = 2 : i64` of the attributes, at `*at`.
std::optional<int64_t> GemmNumber(const Instruction& instruction,
                                  absl::string_view name);
std::optional<int64_t> GemmNumber(const std::string& config,
                                  absl::string_view name, size_t& at);
// `name = true`.
bool GemmFlag(const Instruction& instruction, absl::string_view name);

// The dimensions of one side of te_gemm.
struct GemmSide {
  std::vector<int64_t> sizes;
  int64_t boundary = 0;
  bool contracts_first = false;  // What is before the boundary.

  // The last dimension that is contracted, or that is not.
  int64_t Last(bool contracted) const {
    return contracted == contracts_first ? boundary - 1 : std::ssize(sizes) - 1;
  }
  bool IsLast(int64_t dimension) const {
    return dimension == boundary - 1 || dimension == std::ssize(sizes) - 1;
  }

  bool IsContracted(int64_t dimension) const {
    return (dimension < boundary) == contracts_first;
  }
  std::vector<int64_t> Contracted() const {
    std::vector<int64_t> found;
    for (int64_t i = 0; i < std::ssize(sizes); ++i) {
      if (IsContracted(i)) found.push_back(sizes[i]);
    }
    return found;
  }
};

std::optional<GemmSide> ReadGemmSide(const Instruction& instruction,
                                     int32_t operand);

struct GroupedForm {
  bool is_gradient = false;  // Of the matrices.
  int64_t groups = 0;
  // The dimensions of the right operand that are contracted begin here; those
  // that are not, there.
  size_t contracted = 0;
  size_t free = 0;
};

std::optional<GroupedForm> ReadGroupedForm(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_GEMM_CALLS_H_
