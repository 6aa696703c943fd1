// Kernels (hlo/kernel_calls.h): which local sizes they have a body for, and the
// same kernel on these.
#include <algorithm>
#include <utility>

#include "meshwright/base/check.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

void Append(const Shape& shape, TensorSizes& sizes) {
  for (const Shape* leaf : Leaves(shape)) {
    sizes.insert(sizes.end(), leaf->dimensions.begin(), leaf->dimensions.end());
  }
}

TensorSizes SizesOf(const Computation& body) {
  TensorSizes sizes;
  for (const Instruction* parameter : body.Parameters()) {
    Append(parameter->shape, sizes);
  }
  Append(body.root()->shape, sizes);
  return sizes;
}

// Whether splitting something of these sizes may lead to the others.
bool MayLeadTo(const TensorSizes& sizes, const TensorSizes& parts) {
  return std::ranges::equal(sizes, parts, [](int64_t whole, int64_t part) {
    return part == whole || (part > 0 && whole % part == 0);
  });
}

}  // namespace

std::vector<TensorSizes> KernelVariants(const Instruction& instruction) {
  std::vector<TensorSizes> variants;
  if (!IsKernel(instruction)) return variants;
  for (const Computation* body : instruction.called) {
    variants.push_back(SizesOf(*body));
  }
  return variants;
}

LocalValues LowerKernel(const LocalOp& op, LocalBuilder& builder) {
  TensorSizes sizes;
  for (const Instruction* operand : op.operands) Append(operand->shape, sizes);
  for (size_t i = 0; i < op.rule.results.size(); ++i) {
    Append(LocalResultShape(op, static_cast<int32_t>(i), builder), sizes);
  }
  Instruction local = op.instruction;
  std::erase_if(local.called, [&](const Computation* body) {
    return !MayLeadTo(sizes, SizesOf(*body));
  });
  MW_CHECK(std::ranges::any_of(
      local.called,
      [&](const Computation* body) { return SizesOf(*body) == sizes; }))
      << local.name << " has no body for its local shapes";
  return LowerUnchanged({local, op.rule, op.strategy, op.operands}, builder);
}

}  // namespace meshwright
