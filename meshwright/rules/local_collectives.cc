// Builder calls that move data between devices.
#include <algorithm>

#include "meshwright/base/check.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

Instruction* LocalBuilder::AddCollective(Opcode opcode, Shape shape,
                                         Instruction* value,
                                         const AxisList& axes,
                                         Attributes attributes) {
  attributes.replica_groups = program_->Groups(axes);
  Instruction* result =
      Add(opcode, std::move(shape), {value}, std::move(attributes));
  program_->collectives[result] = {
      axes, source_ == nullptr ? std::string() : source_->name};
  return result;
}

Instruction* LocalBuilder::AllReduce(Instruction* value, Reduction reduction,
                                     const AxisList& axes) {
  if (axes.empty()) return value;
  const ElementType type = value->shape.element_type;
  Instruction* result = AddCollective(
      Opcode::kAllReduce, Shape::Array(type, value->shape.dimensions), value,
      axes, {});
  result->called = {program_->Combiner(reduction, type)};
  return result;
}

Instruction* LocalBuilder::ReduceScatter(Instruction* value,
                                         Reduction reduction,
                                         const AxisList& axes,
                                         int64_t dimension) {
  if (axes.empty()) return value;
  const ElementType type = value->shape.element_type;
  Shape shape = Shape::Array(type, value->shape.dimensions);
  MW_CHECK(shape.dimensions[dimension] % mesh().Size(axes) == 0);
  shape.dimensions[dimension] /= mesh().Size(axes);
  Attributes attributes;
  attributes.dimensions = {dimension};
  Instruction* result = AddCollective(Opcode::kReduceScatter, std::move(shape),
                                      value, axes, std::move(attributes));
  result->called = {program_->Combiner(reduction, type)};
  return result;
}

Instruction* LocalBuilder::AllGather(Instruction* value, const AxisList& axes,
                                     int64_t dimension) {
  if (axes.empty()) return value;
  Shape shape =
      Shape::Array(value->shape.element_type, value->shape.dimensions);
  shape.dimensions[dimension] *= mesh().Size(axes);
  Attributes attributes;
  attributes.dimensions = {dimension};
  return AddCollective(Opcode::kAllGather, std::move(shape), value, axes,
                       std::move(attributes));
}

Instruction* LocalBuilder::AllToAll(Instruction* value, const AxisList& axes,
                                    int64_t split, int64_t join) {
  if (axes.empty()) return value;
  const int64_t count = mesh().Size(axes);
  const std::vector<int64_t> before = value->shape.dimensions;
  MW_CHECK(before[split] % count == 0);
  // HLO's all-to-all cuts and joins along one dimension: bring the blocks to
  // the front, exchange, and merge them where they belong.
  std::vector<int64_t> blocked = before;
  blocked[split] /= count;
  blocked.insert(blocked.begin() + split, count);
  Instruction* current = Reshape(value, blocked);
  std::vector<int64_t> front(blocked.size());
  front[0] = split;
  for (size_t i = 1; i < front.size(); ++i) {
    front[i] = static_cast<int64_t>(i) <= split ? static_cast<int64_t>(i) - 1
                                                : static_cast<int64_t>(i);
  }
  current = Transpose(current, front);
  Attributes attributes;
  attributes.dimensions = {0};
  current = AddCollective(
      Opcode::kAllToAll,
      Shape::Array(current->shape.element_type, current->shape.dimensions),
      current, axes, std::move(attributes));
  // [count, rest...] -> count just before dimension `join` of the rest.
  std::vector<int64_t> back;
  for (int64_t i = 0; i < static_cast<int64_t>(before.size()); ++i) {
    if (i == join) back.push_back(0);
    back.push_back(i + 1);
  }
  current = Transpose(current, back);
  std::vector<int64_t> after = before;
  after[split] /= count;
  after[join] *= count;
  return Reshape(current, after);
}

Instruction* LocalBuilder::CollectivePermute(
    Instruction* value,
    std::vector<std::pair<int64_t, int64_t>> source_target_pairs) {
  Attributes attributes;
  for (const auto& [source, target] : source_target_pairs) {
    attributes.source_target_pairs.push_back(
        {.source = source, .target = target});
  }
  Instruction* result =
      Add(Opcode::kCollectivePermute,
          Shape::Array(value->shape.element_type, value->shape.dimensions),
          {value}, std::move(attributes));
  program_->collectives[result] = {
      {}, source_ == nullptr ? std::string() : source_->name};
  return result;
}

}  // namespace meshwright
