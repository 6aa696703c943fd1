#include "meshwright/rules/take_rows.h"

#include <utility>
#include <vector>

namespace meshwright {

Instruction* TakeRows(Instruction* values, Instruction* indices,
                      LocalBuilder& builder) {
  std::vector<int64_t> slice = values->shape.dimensions;
  slice[0] = 1;
  std::vector<int64_t> sizes = indices->shape.dimensions;
  GatherDimensionNumbers numbers{
      .collapsed_slice_dims = {0},
      .start_index_map = {0},
      .index_vector_dim = indices->shape.rank(),
  };
  for (size_t i = 1; i < slice.size(); ++i) {
    numbers.offset_dims.push_back(static_cast<int64_t>(sizes.size()));
    sizes.push_back(slice[i]);
  }
  Attributes attributes;
  attributes.gather = std::move(numbers);
  attributes.gather_slice_sizes = std::move(slice);
  return builder.Add(Opcode::kGather,
                     Shape::Array(values->shape.element_type, std::move(sizes)),
                     {values, indices}, std::move(attributes));
}

}  // namespace meshwright
