#include "meshwright/rules/index_vectors.h"

#include <algorithm>

namespace meshwright {
namespace {

bool IsImplicit(const Shape& indices, int64_t vector_dimension) {
  return vector_dimension == indices.rank();
}

}  // namespace

bool Contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int64_t> Others(int64_t rank, const std::vector<int64_t>& list) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < rank; ++i) {
    if (!Contains(list, i)) others.push_back(i);
  }
  return others;
}

int64_t VectorSize(const Shape& indices, int64_t vector_dimension) {
  return IsImplicit(indices, vector_dimension)
             ? 1
             : indices.dimensions[vector_dimension];
}

std::vector<Instruction*> Components(Instruction* indices,
                                     int64_t vector_dimension,
                                     LocalBuilder& builder) {
  if (IsImplicit(indices->shape, vector_dimension)) return {indices};
  std::vector<int64_t> dimensions = indices->shape.dimensions;
  dimensions.erase(dimensions.begin() + vector_dimension);
  std::vector<Instruction*> components;
  for (int64_t i = 0; i < VectorSize(indices->shape, vector_dimension); ++i) {
    components.push_back(builder.Reshape(
        builder.Slice(indices, vector_dimension, i, i + 1), dimensions));
  }
  return components;
}

Instruction* FromComponents(const std::vector<Instruction*>& components,
                            const Shape& like, int64_t vector_dimension,
                            LocalBuilder& builder) {
  if (IsImplicit(like, vector_dimension)) return components[0];
  std::vector<int64_t> dimensions = like.dimensions;
  dimensions[vector_dimension] = 1;
  std::vector<Instruction*> rows;
  for (Instruction* component : components) {
    rows.push_back(builder.Reshape(component, dimensions));
  }
  return builder.Concatenate(std::move(rows), vector_dimension);
}

}  // namespace meshwright
