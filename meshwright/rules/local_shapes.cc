// Builder calls that move data within a device.
#include <numeric>

#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

Shape Resized(const Shape& shape, int64_t dimension, int64_t size) {
  Shape result = Shape::Array(shape.element_type, shape.dimensions);
  result.dimensions[dimension] = size;
  return result;
}

}  // namespace

Instruction* LocalBuilder::Reshape(Instruction* value,
                                   std::vector<int64_t> dimensions) {
  if (value->shape.dimensions == dimensions) return value;
  return Add(Opcode::kReshape,
             Shape::Array(value->shape.element_type, std::move(dimensions)),
             {value});
}

Instruction* LocalBuilder::Transpose(Instruction* value,
                                     std::vector<int64_t> permutation) {
  bool identity = true;
  Shape shape = Shape::Array(value->shape.element_type, {});
  for (size_t i = 0; i < permutation.size(); ++i) {
    identity = identity && permutation[i] == static_cast<int64_t>(i);
    shape.dimensions.push_back(value->shape.dimensions[permutation[i]]);
  }
  if (identity) return value;
  Attributes attributes;
  attributes.dimensions = std::move(permutation);
  return Add(Opcode::kTranspose, std::move(shape), {value},
             std::move(attributes));
}

Instruction* LocalBuilder::Slice(Instruction* value, int64_t dimension,
                                 int64_t start, int64_t limit, int64_t stride) {
  const Shape& shape = value->shape;
  if (start == 0 && limit == shape.dimensions[dimension] && stride == 1) {
    return value;
  }
  Attributes attributes;
  for (const int64_t size : shape.dimensions) {
    attributes.slice.push_back({.start = 0, .limit = size, .stride = 1});
  }
  attributes.slice[dimension] = {
      .start = start, .limit = limit, .stride = stride};
  return Add(Opcode::kSlice,
             Resized(shape, dimension, (limit - start + stride - 1) / stride),
             {value}, std::move(attributes));
}

Instruction* LocalBuilder::Pad(Instruction* value, Instruction* fill,
                               int64_t dimension, int64_t low, int64_t high) {
  if (low == 0 && high == 0) return value;
  Attributes attributes;
  attributes.padding.emplace();
  attributes.padding->dimensions.resize(value->shape.rank());
  attributes.padding->dimensions[dimension] = {.edge_low = low,
                                               .edge_high = high};
  return Add(Opcode::kPad,
             Resized(value->shape, dimension,
                     value->shape.dimensions[dimension] + low + high),
             {value, fill}, std::move(attributes));
}

Instruction* LocalBuilder::Concatenate(std::vector<Instruction*> values,
                                       int64_t dimension) {
  if (values.size() == 1) return values[0];
  int64_t size = 0;
  for (const Instruction* value : values) {
    size += value->shape.dimensions[dimension];
  }
  Attributes attributes;
  attributes.dimensions = {dimension};
  Shape shape = Resized(values[0]->shape, dimension, size);
  return Add(Opcode::kConcatenate, std::move(shape), std::move(values),
             std::move(attributes));
}

Instruction* LocalBuilder::DynamicSlice(Instruction* value, int64_t dimension,
                                        Instruction* start, int64_t size) {
  Attributes attributes;
  attributes.dynamic_slice_sizes = value->shape.dimensions;
  attributes.dynamic_slice_sizes[dimension] = size;
  std::vector<Instruction*> operands(value->shape.rank() + 1,
                                     Constant(start->shape.element_type, 0));
  operands[0] = value;
  operands[1 + dimension] = start;
  return Add(Opcode::kDynamicSlice, Resized(value->shape, dimension, size),
             std::move(operands), std::move(attributes));
}

Instruction* LocalBuilder::DynamicUpdateSlice(Instruction* value,
                                              Instruction* update,
                                              int64_t dimension,
                                              Instruction* start) {
  std::vector<Instruction*> operands(value->shape.rank() + 2,
                                     Constant(start->shape.element_type, 0));
  operands[0] = value;
  operands[1] = update;
  operands[2 + dimension] = start;
  return Add(Opcode::kDynamicUpdateSlice,
             Shape::Array(value->shape.element_type, value->shape.dimensions),
             std::move(operands));
}

Instruction* LocalBuilder::Reverse(Instruction* value, int64_t dimension) {
  Attributes attributes;
  attributes.dimensions = {dimension};
  return Add(Opcode::kReverse,
             Shape::Array(value->shape.element_type, value->shape.dimensions),
             {value}, std::move(attributes));
}

Instruction* LocalBuilder::Tuple(std::vector<Instruction*> values) {
  std::vector<Shape> shapes;
  shapes.reserve(values.size());
  for (const Instruction* value : values) shapes.push_back(value->shape);
  return Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)),
             std::move(values));
}

Instruction* LocalBuilder::GetTupleElement(Instruction* tuple, int64_t index) {
  Attributes attributes;
  attributes.tuple_index = index;
  return Add(Opcode::kGetTupleElement, tuple->shape.tuple_shapes[index],
             {tuple}, std::move(attributes));
}

Instruction* LocalBuilder::Reduce(Reduction reduction, Instruction* value,
                                  std::vector<int64_t> dimensions) {
  const ElementType type = value->shape.element_type;
  std::vector<bool> reduced(value->shape.rank(), false);
  for (const int64_t dimension : dimensions) reduced[dimension] = true;
  Shape shape = Shape::Array(type, {});
  for (int64_t i = 0; i < value->shape.rank(); ++i) {
    if (!reduced[i]) shape.dimensions.push_back(value->shape.dimensions[i]);
  }
  Attributes attributes;
  attributes.dimensions = std::move(dimensions);
  Instruction* identity = Identity(reduction, type);
  Instruction* result = Add(Opcode::kReduce, std::move(shape),
                            {value, identity}, std::move(attributes));
  result->called = {program_->Combiner(reduction, type)};
  return result;
}

}  // namespace meshwright
