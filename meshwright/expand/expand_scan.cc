#include "meshwright/base/status_macros.h"
#include "meshwright/expand/expansions.h"
#include "meshwright/hlo/scan_numbers.h"

namespace meshwright {
namespace {

// The reduction if the region is (x, carry) -> (x + carry, x + carry) or the
// like.
absl::StatusOr<Reduction> PlainReduction(const Computation& region) {
  const absl::Status other = absl::UnimplementedError(
      "only scans that sum up, or the like, run on this platform");
  const Instruction& root = *region.root();
  if (root.opcode != Opcode::kTuple || root.operands.size() != 2 ||
      root.operands[0] != root.operands[1]) {
    return other;
  }
  const Instruction& combined = *root.operands[0];
  if (combined.operands.size() != 2 ||
      combined.operands[0] == combined.operands[1] ||
      combined.operands[0]->opcode != Opcode::kParameter ||
      combined.operands[1]->opcode != Opcode::kParameter) {
    return other;
  }
  for (const Reduction reduction :
       {Reduction::kSum, Reduction::kProduct, Reduction::kMax, Reduction::kMin,
        Reduction::kAnd, Reduction::kOr}) {
    if (CombinerOpcode(reduction) == combined.opcode) return reduction;
  }
  return other;
}

// The window of each element: itself and all elements before it, or all after
// it.
Window RunningWindow(const Shape& shape, const ScanNumbers& numbers) {
  Window window;
  window.dimensions.resize(shape.dimensions.size());
  const int64_t length = shape.dimensions[numbers.dimension];
  WindowDimension& scanned = window.dimensions[numbers.dimension];
  scanned.size = length;
  (numbers.is_reverse ? scanned.padding_high : scanned.padding_low) =
      length - 1;
  return window;
}

}  // namespace

absl::StatusOr<Instruction*> ExpandScan(const Instruction& instruction,
                                        LocalBuilder& builder) {
  const std::optional<ScanNumbers> numbers = ScanNumbersOf(instruction);
  if (!numbers.has_value() || numbers->inputs != 1 ||
      instruction.operands.size() != 2) {
    return absl::UnimplementedError(
        "only scans of one array run on this platform");
  }
  MW_ASSIGN_OR_RETURN(const Reduction reduction,
                      PlainReduction(*instruction.called[0]));
  Instruction* input = instruction.operands[0];
  const Shape& shape = input->shape;
  const int64_t length = shape.dimensions[numbers->dimension];
  if (length == 0) {
    return builder.Tuple({input, instruction.operands[1]});
  }
  Attributes attributes;
  attributes.window = RunningWindow(shape, *numbers);
  Instruction* running = builder.Add(
      Opcode::kReduceWindow, Shape::Array(shape.element_type, shape.dimensions),
      {input, builder.Identity(reduction, shape.element_type)},
      std::move(attributes));
  running->called = {builder.program().Combiner(reduction, shape.element_type)};
  std::vector<int64_t> mapping;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i != numbers->dimension) mapping.push_back(i);
  }
  Instruction* start = builder.BroadcastInDim(instruction.operands[1],
                                              shape.dimensions, mapping);
  Instruction* all =
      builder.Add(CombinerOpcode(reduction),
                  Shape::Array(shape.element_type, shape.dimensions),
                  {running, start}, Attributes());
  const int64_t last = numbers->is_reverse ? 0 : length - 1;
  Instruction* carried = builder.Reshape(
      builder.Slice(all, numbers->dimension, last, last + 1), numbers->slice);
  return builder.Tuple({all, carried});
}

}  // namespace meshwright
