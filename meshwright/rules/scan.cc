// scan: every dimension but the scanned one is kept, if what is applied to the
// slices works on each element alone.
#include <algorithm>

#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/scan_numbers.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// A scalar that is repeated is as good as a slice.
bool WorksOnElements(const Instruction& instruction,
                     const std::vector<int64_t>& slice) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kTuple:
      return true;
    case Opcode::kConstant:
      return instruction.shape.IsScalar();
    case Opcode::kBroadcast:
      return instruction.operand_shape(0).IsScalar();
    default:
      break;
  }
  const auto is_slice = [&](const Instruction* operand) {
    return operand->shape.dimensions == slice || operand->shape.IsScalar();
  };
  return IsElementwise(instruction.opcode) && instruction.called.empty() &&
         (instruction.shape.dimensions == slice ||
          instruction.shape.IsScalar()) &&
         std::ranges::all_of(instruction.operands, is_slice);
}

// Shapes of slices become those of local ones; scalars stay.
Shape LocalSlice(const Shape& shape, const std::vector<int64_t>& slice,
                 const std::vector<int64_t>& local) {
  Shape changed = shape;
  if (shape.IsTuple()) {
    for (Shape& element : changed.tuple_shapes) {
      element = LocalSlice(element, slice, local);
    }
  } else if (shape.dimensions == slice) {
    changed.dimensions = local;
  }
  return changed;
}

Computation* LocalRegion(const Computation& region,
                         const std::vector<int64_t>& slice,
                         const std::vector<int64_t>& local,
                         LocalProgram& program) {
  Computation* copy =
      program.module.AddComputation(program.UniqueName(region.name()));
  for (const auto& from : region.instructions()) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : from->operands) {
      operands.push_back(copy->instruction(operand->id));
    }
    Shape shape = LocalSlice(from->shape, slice, local);
    std::string name = program.UniqueName(from->name);
    Instruction* to = from->opcode == Opcode::kParameter
                          ? copy->AddParameter(std::move(shape), name)
                          : copy->Add(from->opcode, std::move(shape),
                                      std::move(operands), name);
    to->attributes = from->attributes;
    to->metadata = from->metadata;
    to->unknown_fields = from->unknown_fields;
  }
  copy->set_root(copy->instruction(region.root()->id));
  return copy;
}

}  // namespace

std::optional<Rule> ScanFactors(const Instruction& instruction) {
  const std::optional<ScanNumbers> numbers = ScanNumbersOf(instruction);
  if (!numbers.has_value()) return std::nullopt;
  for (const auto& inner : instruction.called[0]->instructions()) {
    if (!WorksOnElements(*inner, numbers->slice)) return std::nullopt;
  }
  Rule rule;
  TensorFactors slice;
  for (const int64_t size : numbers->slice) {
    slice.push_back({rule.AddFactor(size)});
    rule.factors.back().may_pad = true;
  }
  TensorFactors whole = slice;
  const int64_t length =
      instruction.operand_shape(0).dimensions[numbers->dimension];
  whole.insert(whole.begin() + numbers->dimension,
               {rule.AddFactor(length, FactorKind::kWhole)});
  for (int32_t i = 0; i < std::ssize(instruction.operands); ++i) {
    rule.operands.push_back(i < numbers->inputs ? whole : slice);
  }
  const size_t results = Leaves(instruction.shape).size();
  for (int32_t i = 0; i < static_cast<int32_t>(results); ++i) {
    rule.results.push_back(i < numbers->outputs ? whole : slice);
  }
  return rule;
}

LocalValues LowerScan(const LocalOp& op, LocalBuilder& builder) {
  const ScanNumbers numbers = *ScanNumbersOf(op.instruction);
  std::vector<int64_t> local = op.operands[0]->shape.dimensions;
  local.erase(local.begin() + numbers.dimension);
  if (local == numbers.slice) return LowerUnchanged(op, builder);
  std::vector<Shape> shapes;
  const bool is_tuple = op.instruction.shape.IsTuple();
  const auto count = static_cast<int32_t>(op.rule.results.size());
  for (int32_t i = 0; i < count; ++i) {
    shapes.push_back(LocalResultShape(op, i, builder));
  }
  Instruction* scan =
      builder.Add(Opcode::kScan, is_tuple ? Shape::Tuple(shapes) : shapes[0],
                  op.operands, *op.instruction.attributes);
  scan->unknown_fields = op.instruction.unknown_fields;
  scan->frontend_attributes = op.instruction.frontend_attributes;
  scan->called = {LocalRegion(*op.instruction.called[0], numbers.slice, local,
                              builder.program())};
  if (!is_tuple) return {scan};
  LocalValues results;
  for (int32_t i = 0; i < count; ++i) {
    results.push_back(builder.GetTupleElement(scan, i));
  }
  return results;
}

}  // namespace meshwright
