// select-and-scatter: each window adds its element of the source to the element
// of the base that it chooses. Dimensions without a window are split freely.
// Along the others a device fetches all windows that touch its part of the
// base, rows and source, and computes them; what they add elsewhere is cut off.
#include <algorithm>
#include <utility>

#include "meshwright/rules/exchange.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/windows.h"

namespace meshwright {
namespace {

// The values that a select-and-scatter never chooses, or none.
std::optional<Reduction> UnchosenOf(const Computation& select) {
  const Instruction* root = select.root();
  if (root->opcode != Opcode::kCompare ||
      root->operands[0]->opcode != Opcode::kParameter ||
      root->operands[1]->opcode != Opcode::kParameter) {
    return std::nullopt;
  }
  const int64_t first = root->operands[0]->attributes->parameter_number;
  const int64_t second = root->operands[1]->attributes->parameter_number;
  const std::string& direction = root->attributes->comparison_direction;
  if (first == second || direction.size() != 2) return std::nullopt;
  const bool larger = direction[0] == 'G';
  if (!larger && direction[0] != 'L') return std::nullopt;
  return larger == (first < second) ? Reduction::kMax : Reduction::kMin;
}

FactorKind KindOf(const Instruction& instruction, const WindowDimension& window,
                  int64_t base_size, int64_t places) {
  if (window.window_dilation != 1 || window.base_dilation != 1) {
    return FactorKind::kWhole;
  }
  if (IsAligned(window, base_size, places) && window.padding_low == 0 &&
      window.size <= window.stride) {
    return FactorKind::kKept;
  }
  const bool can_fetch = UnchosenOf(*instruction.called[0]).has_value() &&
                         ReductionOf(*instruction.called[1]) == Reduction::kSum;
  return can_fetch ? FactorKind::kExchanged : FactorKind::kWhole;
}

Rule WindowScatterRule(const Instruction& instruction, bool separate) {
  const Shape& from = instruction.operand_shape(0);
  Rule rule;
  TensorFactors base(from.rank());
  TensorFactors place(from.rank());
  for (int64_t i = 0; i < from.rank(); ++i) {
    const WindowDimension& window =
        instruction.attributes->window->dimensions[i];
    const int64_t places = instruction.operand_shape(1).dimensions[i];
    AddWindowed(window, from.dimensions[i], places,
                KindOf(instruction, window, from.dimensions[i], places),
                separate, rule, base[i], place[i]);
  }
  rule.operands = {base, place, {}};
  rule.results = {base};
  if (ReductionOf(*instruction.called[1]) == Reduction::kSum) {
    rule.linear = {{Reduction::kSum, {1, 2}}};
  }
  return rule;
}

// The windows that one device computes, as many as any other.
struct Touching {
  int64_t begin = 0;     // The part of the base that it has.
  int64_t end = 0;       // Without padding.
  int64_t first = 0;     // Window.
  int64_t position = 0;  // Where that begins in the base.
};

// One dimension of a select-and-scatter.
class Scattered {
 public:
  Scattered(const LocalOp& op, int64_t dimension, const WindowDimension& window,
            const Mesh& mesh)
      : dimension_(dimension),
        window_(window),
        axes_(op.axes(op.rule.operands[1][dimension][0])),
        base_(OperandSharding(op.rule, op.strategy, 0, mesh).dims[dimension]),
        source_(OperandSharding(op.rule, op.strategy, 1, mesh).dims[dimension]),
        local_(LocalSize(base_, mesh)) {
    const int64_t stride = window.stride;
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      Touching one;
      one.begin = mesh.Coordinate(device, axes_) * local_;
      one.end = std::min(one.begin + local_, GlobalSize(base_));
      // The first that ends after the part begins, but none that begins later.
      const int64_t from = one.begin + window.padding_low;
      one.first = std::min(FloorDivide(from - window.size, stride) + 1,
                           FloorDivide(from, stride));
      one.position = one.first * stride - window.padding_low;
      count_ = std::max(count_,
                        FloorDivide(from + local_ - 1, stride) - one.first + 1);
      touching_.push_back(one);
    }
    length_ = (count_ - 1) * stride + window.size;
    for (const Touching& one : touching_) {
      length_ = std::max(length_, one.begin - one.position + local_);
    }
  }

  Instruction* FetchRows(Instruction* base, Instruction* unchosen,
                         LocalBuilder& builder) const {
    Movement movement = MovementOf(base_, builder.mesh());
    for (const Touching& one : touching_) {
      std::vector<int64_t> list(length_, kAnything);
      for (int64_t i = 0; i < count_; ++i) {
        if (!IsReal(one.first + i) || !Touches(one, i)) continue;
        for (int64_t j = i * window_.stride;
             j < i * window_.stride + window_.size; ++j) {
          const int64_t row = one.position + j;
          list[j] = row >= 0 && row < GlobalSize(base_) ? row : kFilled;
        }
      }
      movement.needed.push_back(std::move(list));
    }
    return Exchange(movement, base, unchosen, builder);
  }

  // Windows that are none add nothing.
  Instruction* FetchSource(Instruction* source, LocalBuilder& builder) const {
    Movement movement = MovementOf(source_, builder.mesh());
    for (const Touching& one : touching_) {
      std::vector<int64_t> list(count_, kAnything);
      for (int64_t i = 0; i < count_; ++i) {
        if (!Touches(one, i)) continue;
        list[i] = IsReal(one.first + i) ? one.first + i : kFilled;
      }
      movement.needed.push_back(std::move(list));
    }
    return Exchange(movement, source, nullptr, builder);
  }

  Instruction* CutOwn(Instruction* result, LocalBuilder& builder) const {
    std::vector<int64_t> starts;
    for (const Touching& one : touching_) {
      starts.push_back(one.begin - one.position);
    }
    if (std::all_of(starts.begin(), starts.end(),
                    [&](int64_t start) { return start == starts[0]; })) {
      return builder.Slice(result, dimension_, starts[0], starts[0] + local_);
    }
    return builder.DynamicSlice(result, dimension_, builder.DeviceTable(starts),
                                local_);
  }

 private:
  Movement MovementOf(const DimSharding& dim, const Mesh& mesh) const {
    return {
        .dimension = dimension_, .axes = axes_, .held = ElementsOf(dim, mesh)};
  }
  bool IsReal(int64_t place) const {
    return place >= 0 && place < GlobalSize(source_);
  }
  bool Touches(const Touching& one, int64_t index) const {
    const int64_t begin = one.position + index * window_.stride;
    return begin < one.end && begin + window_.size > one.begin;
  }

  int64_t dimension_;
  WindowDimension window_;
  AxisList axes_;
  DimSharding base_;
  DimSharding source_;
  int64_t local_;                   // Rows of the base.
  int64_t count_ = 0;               // Windows.
  int64_t length_ = 0;              // Rows that they span.
  std::vector<Touching> touching_;  // By device.
};

}  // namespace

std::optional<Rule> SelectAndScatterFactors(const Instruction& instruction) {
  return WindowScatterRule(instruction, /*separate=*/false);
}

std::optional<Rule> ShiftedSelectAndScatterFactors(
    const Instruction& instruction) {
  Rule rule = WindowScatterRule(instruction, /*separate=*/true);
  const bool same =
      rule.operands == SelectAndScatterFactors(instruction)->operands;
  if (same) return std::nullopt;
  return rule;
}

LocalValues LowerSelectAndScatter(const LocalOp& op, LocalBuilder& builder) {
  Attributes attributes = *op.instruction.attributes;
  LocalValues operands = op.operands;
  std::vector<Scattered> scattered;
  for (int64_t i = 0; i < operands[0]->shape.rank(); ++i) {
    const int32_t factor = op.rule.operands[1][i][0];
    if (!op.IsSplit(factor) ||
        op.rule.factors[factor].kind != FactorKind::kExchanged) {
      continue;
    }
    WindowDimension& window = attributes.window->dimensions[i];
    scattered.emplace_back(op, i, window, builder.mesh());
    Instruction* unchosen =
        builder.Identity(*UnchosenOf(*op.instruction.called[0]),
                         operands[0]->shape.element_type);
    operands[0] = scattered.back().FetchRows(operands[0], unchosen, builder);
    operands[1] = scattered.back().FetchSource(operands[1], builder);
    window.padding_low = window.padding_high = 0;
  }
  const Shape shape = operands[0]->shape;
  Instruction* value = builder.Clone(
      op.instruction, Shape::Array(shape.element_type, shape.dimensions),
      std::move(operands));
  value->attributes.mutate() = std::move(attributes);
  for (const Scattered& one : scattered) value = one.CutOwn(value, builder);
  return {value};
}

}  // namespace meshwright
