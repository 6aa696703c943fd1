// batch-norm-training, -grad and -inference. Features are independent. The
// statistics run over all other dimensions of the whole batch: where one of
// these is split, each device sums its part and the sums are added up.
#include <algorithm>
#include <cmath>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Sums run in at least f32, as the partial ones of all devices meet in them.
ElementType SumType(const Instruction& instruction) {
  const ElementType type = instruction.operand_shape(0).element_type;
  return BitWidth(type) < 32 ? ElementType::kF32 : type;
}

// The operation on one device's part of the batch.
class BatchNorm {
 public:
  BatchNorm(const LocalOp& op, LocalBuilder& builder)
      : op_(op),
        builder_(builder),
        type_(SumType(op.instruction)),
        feature_(op.instruction.attributes->feature_index),
        local_(op.operands[0]->shape.dimensions) {
    for (int64_t i = 0; i < static_cast<int64_t>(local_.size()); ++i) {
      if (i == feature_) continue;
      summed_.push_back(i);
      axes_.Append(op.axes(op.rule.operands[0][i][0]));
      count_ *=
          static_cast<double>(op.instruction.operand_shape(0).dimensions[i]);
    }
  }

  bool IsSplit() const { return !axes_.empty(); }

  LocalValues Training() {
    Instruction* x = Operand(0);
    Instruction* masked = Masked(x);
    const auto [sum, squares] = Sums(masked, Multiply(masked, masked));
    Instruction* mean = Divide(sum, Value(count_, sum));
    Instruction* variance =
        Subtract(Divide(squares, Value(count_, sum)), Multiply(mean, mean));
    Instruction* scale = Multiply(Operand(1), Deviation(variance));
    Instruction* output = Add(
        Multiply(Subtract(x, Spread(mean)), Spread(scale)), Spread(Operand(2)));
    return Results({output, mean, variance});
  }

  LocalValues Grad() {
    Instruction* variance = Operand(3);
    Instruction* gradient = Operand(4);
    Instruction* centred = Subtract(Operand(0), Spread(Operand(2)));
    const auto [offset, product] =
        Sums(Masked(gradient), Masked(Multiply(gradient, centred)));
    Instruction* deviation = Deviation(variance);
    Instruction* slope =
        Divide(product, Add(variance, Value(Epsilon(), variance)));
    // (N dy - sum(dy) - (x - mean) sum(dy (x - mean)) / (var + eps)) / N
    Instruction* inner = Subtract(
        Subtract(Multiply(gradient, Value(count_, gradient)), Spread(offset)),
        Multiply(centred, Spread(slope)));
    Instruction* scale =
        Divide(Multiply(Operand(1), deviation), Value(count_, deviation));
    return Results(
        {Multiply(inner, Spread(scale)), Multiply(product, deviation), offset});
  }

 private:
  Instruction* Add(Instruction* a, Instruction* b) {
    return builder_.Binary(Opcode::kAdd, a, b);
  }
  Instruction* Subtract(Instruction* a, Instruction* b) {
    return builder_.Binary(Opcode::kSubtract, a, b);
  }
  Instruction* Multiply(Instruction* a, Instruction* b) {
    return builder_.Binary(Opcode::kMultiply, a, b);
  }
  Instruction* Divide(Instruction* a, Instruction* b) {
    return builder_.Binary(Opcode::kDivide, a, b);
  }
  Instruction* Value(double value, const Instruction* like) {
    return builder_.Broadcast(builder_.Constant(type_, value),
                              like->shape.dimensions);
  }
  double Epsilon() const {
    return static_cast<double>(op_.instruction.attributes->epsilon);
  }
  Instruction* Operand(int32_t index) {
    return builder_.Convert(type_, op_.operands[index]);
  }
  // A vector over the features in every place of the batch.
  Instruction* Spread(Instruction* vector) {
    return builder_.BroadcastInDim(vector, local_, {feature_});
  }
  // 1 / sqrt(variance + epsilon)
  Instruction* Deviation(Instruction* variance) {
    return builder_.Unary(Opcode::kRsqrt,
                          Add(variance, Value(Epsilon(), variance)));
  }
  // Zero in the padding of the batch.
  Instruction* Masked(Instruction* value) {
    for (const int64_t dimension : summed_) {
      value = MaskPadding(op_, 0, op_.rule.operands[0][dimension][0], value,
                          builder_.Constant(type_, 0), builder_);
    }
    return value;
  }
  // Two sums over the batch, in one all-reduce.
  std::pair<Instruction*, Instruction*> Sums(Instruction* a, Instruction* b) {
    Instruction* both =
        builder_.Concatenate({builder_.Reduce(Reduction::kSum, a, summed_),
                              builder_.Reduce(Reduction::kSum, b, summed_)},
                             0);
    both = builder_.AllReduce(both, Reduction::kSum, axes_);
    const int64_t features = local_[feature_];
    return {builder_.Slice(both, 0, 0, features),
            builder_.Slice(both, 0, features, 2 * features)};
  }
  LocalValues Results(LocalValues values) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = builder_.Convert(
          LocalResultShape(op_, static_cast<int32_t>(i), builder_).element_type,
          values[i]);
    }
    return values;
  }

  const LocalOp& op_;
  LocalBuilder& builder_;
  ElementType type_;
  int64_t feature_;
  std::vector<int64_t> local_;
  std::vector<int64_t> summed_;
  AxisList axes_;
  double count_ = 1;
};

}  // namespace

std::optional<Rule> BatchNormFactors(const Instruction& instruction) {
  const std::vector<int64_t>& dimensions =
      instruction.operand_shape(0).dimensions;
  const int64_t feature = instruction.attributes->feature_index;
  Rule rule = PointwiseRule(dimensions, 0);
  for (Factor& factor : rule.factors) factor.may_divide = false;
  const TensorFactors tensor = rule.results[0];
  const TensorFactors vector = {tensor[feature]};
  const auto factors_of = [&](const Shape& shape) {
    return shape.dimensions == dimensions ? tensor : vector;
  };
  for (const Instruction* operand : instruction.operands) {
    rule.operands.push_back(factors_of(operand->shape));
  }
  if (instruction.shape.IsArray()) return rule;  // Inference: no statistics.
  rule.results = {tensor, vector, vector};
  for (int64_t i = 0; i < static_cast<int64_t>(dimensions.size()); ++i) {
    if (i != feature) {
      rule.factors[tensor[i][0]].kind = FactorKind::kExchanged;
    }
  }
  if (instruction.opcode == Opcode::kBatchNormGrad) {
    rule.linear = {{Reduction::kSum, {4}}};
  }
  return rule;
}

LocalValues LowerBatchNorm(const LocalOp& op, LocalBuilder& builder) {
  if (op.instruction.shape.IsArray()) return LowerUnchanged(op, builder);
  BatchNorm norm(op, builder);
  if (!norm.IsSplit()) return LowerUnchanged(op, builder);
  return op.instruction.opcode == Opcode::kBatchNormGrad ? norm.Grad()
                                                         : norm.Training();
}

}  // namespace meshwright
