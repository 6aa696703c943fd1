#include "meshwright/rules/exchange.h"

#include <algorithm>

namespace meshwright {
namespace {

bool Uniform(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t value) { return value == values[0]; });
}

// Emits one plan; see ExchangePlan for the steps.
class Emitter {
 public:
  Emitter(const ExchangePlan& plan, int64_t dimension, Instruction* fill,
          LocalBuilder* builder)
      : plan_(plan), dimension_(dimension), fill_(fill), builder_(*builder) {}

  Instruction* Emit(Instruction* value) const {
    if (plan_.segments.empty()) return AllFill(value);
    const std::vector<int64_t> starts(builder_.mesh().device_count(),
                                      plan_.own_start);
    std::vector<Instruction*> parts;
    for (const int32_t part : plan_.order) {
      parts.push_back(part == ExchangePlan::kOwn
                          ? Cut(value, starts, plan_.own_size)
                          : Transfer(value, plan_.rounds[part]));
    }
    Instruction* joined =
        Pad(builder_.Concatenate(std::move(parts), dimension_), plan_.pad_low,
            plan_.pad_high);
    std::vector<Instruction*> segments;
    for (const ExchangeSegment& segment : plan_.segments) {
      segments.push_back(Cut(joined, segment.start, segment.size));
    }
    return Pad(builder_.Concatenate(std::move(segments), dimension_),
               plan_.fill_low, plan_.fill_high);
  }

 private:
  Instruction* AllFill(Instruction* value) const {
    std::vector<int64_t> dimensions = value->shape.dimensions;
    dimensions[dimension_] = (plan_.fill_low + plan_.fill_high) * plan_.unit;
    return builder_.Broadcast(fill_, dimensions);
  }

  Instruction* Cut(Instruction* value, const std::vector<int64_t>& starts,
                   int64_t size) const {
    const int64_t unit = plan_.unit;
    if (Uniform(starts)) {
      return builder_.Slice(value, dimension_, starts[0] * unit,
                            (starts[0] + size) * unit);
    }
    std::vector<int64_t> elements;
    for (const int64_t start : starts) elements.push_back(start * unit);
    return builder_.DynamicSlice(value, dimension_,
                                 builder_.DeviceTable(elements), size * unit);
  }

  Instruction* Pad(Instruction* value, int64_t low, int64_t high) const {
    return builder_.Pad(value, fill_, dimension_, low * plan_.unit,
                        high * plan_.unit);
  }

  Instruction* Transfer(Instruction* value, const ExchangeRound& round) const {
    Instruction* received = builder_.CollectivePermute(
        Cut(value, round.start, round.size), round.pairs);
    // A device that nothing is sent to has zeros.
    if (!round.non_receivers_fill ||
        LocalBuilder::IsIdentity(*fill_, Reduction::kSum))
      return received;
    const std::vector<int64_t> receives(round.receives.begin(),
                                        round.receives.end());
    return builder_.Select(
        builder_.Compare("EQ", builder_.DeviceTable(receives),
                         builder_.Constant(ElementType::kS32, 1)),
        received, builder_.Broadcast(fill_, received->shape.dimensions));
  }

  const ExchangePlan& plan_;
  int64_t dimension_;
  Instruction* fill_;
  LocalBuilder& builder_;
};

}  // namespace

ElementLists ElementsOf(const DimSharding& dim, const Mesh& mesh) {
  ElementLists lists;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    lists.push_back(GlobalIndices(dim, mesh, device));
  }
  return lists;
}

Movement Stretches(const DimSharding& dim, int64_t dimension, int64_t first,
                   int64_t step, int64_t size, const Mesh& mesh) {
  Movement movement = {.dimension = dimension,
                       .axes = AxesOf(dim),
                       .held = ElementsOf(dim, mesh)};
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    const int64_t start = first + mesh.Coordinate(device, movement.axes) * step;
    std::vector<int64_t>& list = movement.needed.emplace_back();
    for (int64_t index = start; index < start + size; ++index) {
      list.push_back(index < 0 || index >= GlobalSize(dim) ? kFilled : index);
    }
  }
  return movement;
}

std::optional<Reduction> JoiningReduction(ElementType type) {
  if (type == ElementType::kPred) return Reduction::kOr;
  if (BitWidth(type) < (IsInteger(type) ? 8 : 16)) return std::nullopt;
  return Reduction::kSum;
}

void KeepOwn(Movement& movement) {
  for (size_t device = 0; device < movement.held.size(); ++device) {
    std::vector<int64_t> own = movement.held[device];
    std::sort(own.begin(), own.end());
    for (int64_t& index : movement.needed[device]) {
      if (index >= 0 && !std::binary_search(own.begin(), own.end(), index)) {
        index = kFilled;
      }
    }
  }
}

int32_t AddShifted(int64_t size, int32_t first, Rule& rule) {
  const int32_t factor = rule.AddFactor(size, FactorKind::kExchanged);
  rule.factors[factor].may_pad = true;
  rule.factors[factor].tied = first;
  return factor;
}

bool IsSplitDimension(const LocalOp& op, int64_t dimension) {
  for (const DimFactors& dim :
       {op.rule.operands[0][dimension], op.rule.results[0][dimension]}) {
    for (const int32_t factor : dim) {
      if (op.IsSplit(factor)) return true;
    }
  }
  return false;
}

Instruction* Exchange(const Movement& movement, Instruction* value,
                      Instruction* fill, LocalBuilder& builder) {
  const ExchangePlan plan = PlanExchange(
      movement.held, movement.needed, builder.program().Groups(movement.axes));
  if (fill == nullptr) fill = builder.Constant(value->shape.element_type, 0);
  if (plan.gathers) {
    value = builder.AllGather(value, movement.axes, movement.dimension);
  }
  return Emitter(plan, movement.dimension, fill, &builder).Emit(value);
}

}  // namespace meshwright
