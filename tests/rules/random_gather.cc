#include "tests/rules/random_gather.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "tests/rules/random_shapes.h"

namespace meshwright {
namespace {

Draw IndexDraw(ElementType type) {
  // Some are out of range.
  return IsSignedInteger(type) ? Integers(-2, 7) : Integers(0, 8);
}

}  // namespace

IndexedAccess RandomAccess(Random& random) {
  IndexedAccess access;
  GatherDimensionNumbers& numbers = access.numbers;
  access.indices = RandomSizes(random, 0, 2);
  std::vector<int64_t> offsets;  // Sizes of the slices' own dimensions.
  const int64_t rank = 1 + RandomBelow(random, 3);
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = RandomSize(random);
    int64_t taken = 1;
    const bool indexed = random() % 4 != 0;
    const uint64_t kind = random() % 5;
    if (kind == 0 &&
        numbers.operand_batching_dims.size() < access.indices.size()) {
      const int64_t at =
          static_cast<int64_t>(numbers.operand_batching_dims.size());
      size = access.indices[at];
      numbers.operand_batching_dims.push_back(i);
      numbers.start_indices_batching_dims.push_back(at);
    } else if (kind <= 2) {
      numbers.collapsed_slice_dims.push_back(i);
      if (indexed) numbers.start_index_map.push_back(i);
    } else {
      taken = kind == 3 ? size : 1 + RandomBelow(random, size);
      offsets.push_back(taken);
      if (indexed) numbers.start_index_map.push_back(i);
    }
    access.operand.push_back(size);
    access.slice_sizes.push_back(taken);
  }
  std::shuffle(numbers.start_index_map.begin(), numbers.start_index_map.end(),
               random);
  // Places of the slices' own dimensions among the index vectors'.
  const int64_t slice_rank =
      static_cast<int64_t>(offsets.size() + access.indices.size());
  std::vector<int64_t> places = RandomOrder(random, slice_rank);
  places.resize(offsets.size());
  std::sort(places.begin(), places.end());
  numbers.offset_dims = places;
  size_t next_offset = 0;
  size_t next_batch = 0;
  for (int64_t i = 0; i < slice_rank; ++i) {
    const bool is_offset =
        std::find(places.begin(), places.end(), i) != places.end();
    access.slices.push_back(is_offset ? offsets[next_offset++]
                                      : access.indices[next_batch++]);
  }
  // The vectors' dimension goes anywhere; or is left out.
  const int64_t components =
      static_cast<int64_t>(numbers.start_index_map.size());
  const int64_t batch_rank = static_cast<int64_t>(access.indices.size());
  numbers.index_vector_dim = batch_rank;
  if (components != 1 || random() % 2 == 0) {
    numbers.index_vector_dim = RandomBelow(random, batch_rank + 1);
    access.indices.insert(access.indices.begin() + numbers.index_vector_dim,
                          components);
    for (int64_t& dimension : numbers.start_indices_batching_dims) {
      if (dimension >= numbers.index_vector_dim) ++dimension;
    }
  }
  return access;
}

IndexedAccess RowAccess(int64_t rows, int64_t width, int64_t count) {
  return {.operand = {rows, width},
          .indices = {count},
          .slices = {count, width},
          .slice_sizes = {1, width},
          .numbers = {.offset_dims = {1},
                      .collapsed_slice_dims = {0},
                      .start_index_map = {0},
                      .index_vector_dim = 1}};
}

OneOp GatherOp(const IndexedAccess& access, ElementType type,
               ElementType index) {
  return {.opcode = Opcode::kGather,
          .operands = {ShapeText(type, access.operand),
                       ShapeText(index, access.indices)},
          .set =
              [access](Attributes& a) {
                a.gather = access.numbers;
                a.gather_slice_sizes = access.slice_sizes;
              },
          .result = ShapeText(type, access.slices),
          .draws = {{1, IndexDraw(index)}}};
}

OneOp ScatterOp(const IndexedAccess& access, ElementType type,
                ElementType index, const Callee& callee, size_t count) {
  OneOp op{
      .opcode = Opcode::kScatter,
      .set =
          [access](Attributes& a) {
            a.scatter = ScatterDimensionNumbers{
                .update_window_dims = access.numbers.offset_dims,
                .inserted_window_dims = access.numbers.collapsed_slice_dims,
                .scatter_dims_to_operand_dims = access.numbers.start_index_map,
                .index_vector_dim = access.numbers.index_vector_dim,
                .input_batching_dims = access.numbers.operand_batching_dims,
                .scatter_indices_batching_dims =
                    access.numbers.start_indices_batching_dims};
          },
      .called = {callee}};
  const std::vector<std::string> operands(count,
                                          ShapeText(type, access.operand));
  op.operands = operands;
  op.operands.push_back(ShapeText(index, access.indices));
  op.operands.insert(op.operands.end(), count, ShapeText(type, access.slices));
  op.result =
      count == 1 ? operands[0] : "(" + absl::StrJoin(operands, ", ") + ")";
  op.draws[static_cast<int32_t>(count)] = IndexDraw(index);
  return op;
}

}  // namespace meshwright
