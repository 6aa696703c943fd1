// Test support: random gathers and scatters, of every kind of dimension.
#ifndef MESHWRIGHT_TESTS_RULES_RANDOM_GATHER_H_
#define MESHWRIGHT_TESTS_RULES_RANDOM_GATHER_H_

#include <cstdint>
#include <vector>

#include "tests/rules/one_op.h"

namespace meshwright {

// To choose from.
inline constexpr ElementType kIndexedTypes[] = {
    ElementType::kF32, ElementType::kPred, ElementType::kBF16,
    ElementType::kS32};
inline constexpr ElementType kIndexTypes[] = {
    ElementType::kS32, ElementType::kS64, ElementType::kU8, ElementType::kU32};

// An indexed tensor, index vectors and slices, as both opcodes see them: a
// gather's result has the shape of a scatter's updates.
struct IndexedAccess {
  std::vector<int64_t> operand;
  std::vector<int64_t> indices;
  std::vector<int64_t> slices;  // Result of a gather, updates of a scatter.
  std::vector<int64_t> slice_sizes;
  GatherDimensionNumbers numbers;
};

IndexedAccess RandomAccess(Random& random);
// Rows of a table by number, as an embedding does.
IndexedAccess RowAccess(int64_t rows, int64_t width, int64_t count);

OneOp GatherOp(const IndexedAccess& access, ElementType type,
               ElementType index);
// Of `count` operands; the callee combines pairs of all of them.
OneOp ScatterOp(const IndexedAccess& access, ElementType type,
                ElementType index, const Callee& callee, size_t count = 1);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_RANDOM_GATHER_H_
