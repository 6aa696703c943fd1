// Opcodes that arrange elements anew: broadcast, transpose, reshape, bitcast.
#include <numeric>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Walks the dimensions of one side of a reshape, major first.
class Side {
 public:
  Side(const std::vector<int64_t>& dimensions, TensorFactors* tensor,
       Rule* rule)
      : dimensions_(dimensions), tensor_(tensor), rule_(rule) {
    tensor_->resize(dimensions.size());
    Advance();
  }

  bool done() const { return index_ == dimensions_.size(); }
  int64_t left() const { return left_; }  // Of the current dimension.
  int64_t product() const { return product_; }

  // The next `size` of the current dimension is `factor`.
  void Take(int32_t factor, int64_t size) {
    (*tensor_)[index_].push_back(factor);
    product_ *= size;
    left_ /= size;
    if (left_ == 1) {
      ++index_;
      Advance();
    }
  }
  // As Take, for a factor of this side alone.
  void TakePrivate(int64_t size) {
    Take(rule_->AddFactor(size, FactorKind::kWhole), size);
  }

 private:
  void Advance() {
    for (; index_ < dimensions_.size(); ++index_) {
      left_ = dimensions_[index_];
      if (left_ != 1) return;
      (*tensor_)[index_].push_back(rule_->AddFactor(1, FactorKind::kWhole));
    }
  }

  const std::vector<int64_t>& dimensions_;
  TensorFactors* tensor_;
  Rule* rule_;
  size_t index_ = 0;
  int64_t left_ = 1;
  int64_t product_ = 1;
};

}  // namespace

std::optional<Rule> BroadcastFactors(const Instruction& instruction) {
  const Shape& operand = instruction.operand_shape(0);
  Rule rule = PointwiseRule(instruction.shape.dimensions, 0);
  TensorFactors tensor;
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t target = instruction.attributes->dimensions[i];
    if (operand.dimensions[i] == instruction.shape.dimensions[target]) {
      tensor.push_back(rule.results[0][target]);
    } else {
      tensor.push_back(
          {rule.AddFactor(operand.dimensions[i], FactorKind::kWhole)});
    }
  }
  rule.operands = {std::move(tensor)};
  rule.linear = {{std::nullopt, {0}}};
  rule.cheap_to_repeat = operand.IsScalar();
  return rule;
}

std::optional<Rule> TransposeFactors(const Instruction& instruction) {
  Rule rule = PointwiseRule(instruction.operand_shape(0).dimensions, 1, 0);
  TensorFactors tensor;
  for (const int64_t from : instruction.attributes->dimensions) {
    tensor.push_back(rule.operands[0][from]);
  }
  rule.results = {std::move(tensor)};
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

std::optional<Rule> ReshapeFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  const Shape& to = instruction.shape;
  if (ElementCount(to) == 0 || from.element_type != to.element_type) {
    return std::nullopt;
  }
  Rule rule;
  rule.operands.resize(1);
  rule.results.resize(1);
  Side in(from.dimensions, &rule.operands[0], &rule);
  Side out(to.dimensions, &rule.results[0], &rule);
  while (!in.done() || !out.done()) {
    if (in.product() == out.product()) {
      const int64_t common = std::gcd(in.left(), out.left());
      if (common == 1) {
        in.TakePrivate(in.left());
        out.TakePrivate(out.left());
        continue;
      }
      const int32_t factor = rule.AddFactor(common);
      rule.factors[factor].may_pad = true;
      rule.factors[factor].may_divide = true;
      in.Take(factor, common);
      out.Take(factor, common);
      continue;
    }
    Side& behind = in.product() < out.product() ? in : out;
    const Side& ahead = in.product() < out.product() ? out : in;
    const int64_t ratio = ahead.product() % behind.product() == 0
                              ? ahead.product() / behind.product()
                              : 0;
    behind.TakePrivate(ratio > 1 && behind.left() % ratio == 0 ? ratio
                                                               : behind.left());
  }
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

std::optional<Rule> BitcastConvertFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  const Shape& to = instruction.shape;
  const bool widens = from.rank() > to.rank();
  const Shape& longer = widens ? from : to;
  const Shape& shorter = widens ? to : from;
  Rule rule = PointwiseRule(shorter.dimensions, 1, 1);
  if (longer.rank() != shorter.rank()) {
    const int32_t extra =
        rule.AddFactor(longer.dimensions.back(), FactorKind::kWhole);
    (widens ? rule.operands : rule.results)[0].push_back({extra});
  }
  return rule;
}

}  // namespace meshwright
