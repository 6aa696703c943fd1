// Random numbers. rng-bit-generator computes from its state alone: every device
// makes all bits and keeps its block, so the bits are those of one device.
// rng draws from a state of the program that all its devices share, in the
// order in which they come: one device draws, the others get its numbers.
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// This device's block of result leaf `index`.
Instruction* Cut(const LocalOp& op, int32_t index, Instruction* value,
                 LocalBuilder& builder) {
  const TensorFactors& tensor = op.rule.results[index];
  for (size_t i = 0; i < tensor.size(); ++i) {
    const int32_t factor = tensor[i][0];
    if (!op.IsSplit(factor)) continue;
    const int64_t dimension = static_cast<int64_t>(i);
    const int64_t size =
        LocalFactorSize(op.rule, op.strategy, factor, builder.mesh());
    const int64_t shards = builder.mesh().Size(op.axes(factor));
    value =
        builder.Pad(value, builder.Constant(value->shape.element_type, 0),
                    dimension, 0, size * shards - op.rule.factors[factor].size);
    Instruction* start = builder.Binary(
        Opcode::kMultiply, builder.AxisIndex(op.axes(factor)),
        builder.Constant(ElementType::kS32, static_cast<double>(size)));
    value = builder.DynamicSlice(value, dimension, start, size);
  }
  return value;
}

// A computation of one tuple parameter that draws as `like` does, or returns
// zeros.
Computation* DrawOrNot(const Instruction& like, const Shape& arguments,
                       bool draw, LocalBuilder& outer) {
  auto& program = outer.program();
  Computation* computation =
      program.module.AddComputation(program.UniqueName(draw ? "draw" : "wait"));
  Instruction* parameter =
      computation->AddParameter(arguments, program.UniqueName("arguments"));
  LocalBuilder builder(&program, computation);
  if (!draw) {
    computation->set_root(builder.Broadcast(
        builder.Constant(like.shape.element_type, 0), like.shape.dimensions));
    return computation;
  }
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < like.operands.size(); ++i) {
    operands.push_back(
        builder.GetTupleElement(parameter, static_cast<int64_t>(i)));
  }
  computation->set_root(builder.Clone(
      like, Shape::Array(like.shape.element_type, like.shape.dimensions),
      std::move(operands)));
  return computation;
}

}  // namespace

std::optional<Rule> RngBitGeneratorFactors(const Instruction& instruction) {
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (results.size() != 2 || instruction.operands.size() != 1) {
    return std::nullopt;
  }
  Rule rule;
  TensorFactors state;
  for (const int64_t size : results[0]->dimensions) {
    state.push_back({rule.AddFactor(size, FactorKind::kWhole)});
  }
  TensorFactors bits;
  for (const int64_t size : results[1]->dimensions) {
    const int32_t factor = rule.AddFactor(size);
    rule.factors[factor].may_pad = true;
    bits.push_back({factor});
  }
  rule.operands = {state};
  rule.results = {state, bits};
  return rule;
}

LocalValues LowerRngBitGenerator(const LocalOp& op, LocalBuilder& builder) {
  const std::vector<const Shape*> results = Leaves(op.instruction.shape);
  std::vector<Shape> shapes;
  for (const Shape* shape : results) {
    shapes.push_back(Shape::Array(shape->element_type, shape->dimensions));
  }
  Instruction* both = builder.Clone(
      op.instruction, Shape::Tuple(std::move(shapes)), op.operands);
  return {builder.GetTupleElement(both, 0),
          Cut(op, 1, builder.GetTupleElement(both, 1), builder)};
}

std::optional<Rule> RngFactors(const Instruction& instruction) {
  if (!instruction.shape.IsArray()) return std::nullopt;
  Rule rule = FallbackRule(instruction);
  rule.is_fallback = false;
  return rule;
}

LocalValues LowerRng(const LocalOp& op, LocalBuilder& builder) {
  const AxisList all = builder.mesh().AllSubAxes();
  if (all.empty()) return LowerUnchanged(op, builder);
  Instruction* arguments = builder.Tuple(op.operands);
  Instruction* drawn =
      builder.Add(Opcode::kConditional,
                  Shape::Array(op.instruction.shape.element_type,
                               op.instruction.shape.dimensions),
                  {builder.IsLeader(all), arguments, arguments});
  drawn->called = {DrawOrNot(op.instruction, arguments->shape, true, builder),
                   DrawOrNot(op.instruction, arguments->shape, false, builder)};
  return {builder.AllReduce(drawn, Reduction::kSum, all)};
}

}  // namespace meshwright
