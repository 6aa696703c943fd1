#include "meshwright/analysis/index_range.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "meshwright/analysis/demand.h"

namespace meshwright {
namespace {

bool Contains(const std::vector<int64_t>& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::optional<int64_t> ScalarInteger(const Instruction& value) {
  const Instruction& source = Source(value);
  if (source.opcode != Opcode::kConstant) return std::nullopt;
  const Literal* literal = source.attributes->literal.get();
  if (literal == nullptr || literal->data.empty()) return std::nullopt;
  if (!IsInteger(source.shape.element_type)) return std::nullopt;
  if (ElementCount(source.shape) != 1) return std::nullopt;
  return literal->ElementAsInteger(0);
}

// The number of positions at which a window of `size` fits into `dimension`.
int64_t Places(const Shape& shape, int64_t dimension, int64_t size) {
  if (dimension < 0 || dimension >= shape.rank()) return kNoDemand;
  return std::max<int64_t>(shape.dimensions[dimension] - size, 0) + 1;
}

int64_t SizeAt(const std::vector<int64_t>& sizes, int64_t index) {
  return index >= 0 && index < std::ssize(sizes) ? sizes[index] : 1;
}

// The concatenate that assembles index vectors, if `indices` is one.
const Instruction* FindConcatenate(const Instruction& indices,
                                   int64_t dimension) {
  constexpr int kMaxHops = 100;
  const Instruction* at = &indices;
  for (int hop = 0; hop < kMaxHops; ++hop) {
    switch (at->opcode) {
      case Opcode::kConvert:
      case Opcode::kCopy:
        at = at->operands[0];
        break;
      case Opcode::kClamp:
        at = at->operands[1];
        break;
      case Opcode::kConcatenate:
        return Contains(at->attributes->dimensions, dimension) ? at : nullptr;
      default:
        return nullptr;
    }
  }
  return nullptr;
}

// Demands that component c of each index vector, along `dimension`, is below
// bounds[c].
void AskOfIndices(const Instruction& indices, int64_t dimension,
                  const std::vector<int64_t>& bounds, Ask ask) {
  if (bounds.empty()) return;
  const Instruction* concatenate =
      bounds.size() > 1 ? FindConcatenate(indices, dimension) : nullptr;
  if (concatenate == nullptr) {
    return ask(indices, *std::min_element(bounds.begin(), bounds.end()));
  }
  int64_t component = 0;
  for (const Instruction* piece : concatenate->operands) {
    if (dimension < 0 || dimension >= piece->shape.rank()) return;
    const int64_t end = std::min(component + piece->shape.dimensions[dimension],
                                 static_cast<int64_t>(bounds.size()));
    if (component >= end) return;
    ask(*piece,
        *std::min_element(bounds.begin() + component, bounds.begin() + end));
    component = end;
  }
}

void AskOfGather(const Instruction& gather, Ask ask) {
  const auto& numbers = gather.attributes->gather;
  if (!numbers || gather.operands.size() < 2) return;
  std::vector<int64_t> bounds;
  for (int64_t dimension : numbers->start_index_map) {
    bounds.push_back(
        Places(gather.operand_shape(0), dimension,
               SizeAt(gather.attributes->gather_slice_sizes, dimension)));
  }
  AskOfIndices(*gather.operands[1], numbers->index_vector_dim, bounds, ask);
}

// The window's size along every dimension of a scatter's operand.
std::vector<int64_t> ScatterWindow(const ScatterDimensionNumbers& numbers,
                                   const Shape& operand, const Shape& update) {
  std::vector<int64_t> sizes;
  size_t window = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    sizes.push_back(1);
    if (Contains(numbers.inserted_window_dims, d) ||
        Contains(numbers.input_batching_dims, d) ||
        window >= numbers.update_window_dims.size()) {
      continue;
    }
    sizes.back() =
        SizeAt(update.dimensions, numbers.update_window_dims[window++]);
  }
  return sizes;
}

void AskOfScatter(const Instruction& scatter, Ask ask) {
  const auto& numbers = scatter.attributes->scatter;
  if (!numbers || scatter.operands.size() < 3) return;
  const size_t indices = scatter.operands.size() / 2;
  const Shape& operand = scatter.operand_shape(0);
  const std::vector<int64_t> window =
      ScatterWindow(*numbers, operand, scatter.operand_shape(indices + 1));
  std::vector<int64_t> bounds;
  for (int64_t dimension : numbers->scatter_dims_to_operand_dims) {
    bounds.push_back(Places(operand, dimension, SizeAt(window, dimension)));
  }
  AskOfIndices(*scatter.operands[indices], numbers->index_vector_dim, bounds,
               ask);
}

// Demands on operands from `first` on, which are offsets into `sliced`: one per
// dimension, or one vector of all of them.
void AskOfOffsets(const Instruction& instruction, size_t first,
                  const std::vector<int64_t>& sizes, Ask ask) {
  const Shape& sliced = instruction.operand_shape(0);
  for (size_t i = first; i < instruction.operands.size(); ++i) {
    const Instruction& offset = *instruction.operands[i];
    int64_t bound = kNoDemand;
    for (int64_t d = 0; d < sliced.rank(); ++d) {
      if (offset.shape.rank() == 0 && d != static_cast<int64_t>(i - first)) {
        continue;
      }
      bound = std::min(bound, Places(sliced, d, SizeAt(sizes, d)));
    }
    ask(offset, bound);
  }
}

void AskOfCompare(const Instruction& compare, Ask ask) {
  const std::string& direction = compare.attributes->comparison_direction;
  if (direction != "EQ" && direction != "NE") return;
  for (int side : {0, 1}) {
    const Instruction& iota = Source(*compare.operands[1 - side]);
    if (iota.opcode != Opcode::kIota) continue;
    const auto& dimensions = iota.attributes->dimensions;
    const int64_t dimension = dimensions.empty() ? 0 : dimensions[0];
    if (dimension < 0 || dimension >= iota.shape.rank()) continue;
    ask(*compare.operands[side], iota.shape.dimensions[dimension]);
  }
}

// Demands from x + c < demand and the like. A bound that leaves no values stems
// from the branch for negative indices in select(i < 0, i + n, i) and is
// dropped.
void AskOfArithmetic(const Instruction& instruction, int64_t demand, Ask ask) {
  for (int side : {0, 1}) {
    const std::optional<int64_t> constant =
        ScalarInteger(*instruction.operands[1 - side]);
    if (!constant) continue;
    int64_t bound = 0;
    bool overflow = false;
    switch (instruction.opcode) {
      case Opcode::kAdd:
        overflow = __builtin_sub_overflow(demand, *constant, &bound);
        break;
      case Opcode::kSubtract:
        if (side == 1) continue;
        overflow = __builtin_add_overflow(demand, *constant, &bound);
        break;
      case Opcode::kMultiply:
        if (*constant <= 0) continue;
        bound = (demand - 1) / *constant + 1;
        break;
      default:
        if (side == 1 || *constant <= 0) continue;
        overflow = __builtin_mul_overflow(demand, *constant, &bound);
    }
    if (!overflow && bound > 0) ask(*instruction.operands[side], bound);
  }
}

class IndexRule : public DemandRule {
 public:
  void Apply(const Instruction& instruction, int64_t demand,
             Ask ask) const override {
    const auto ask_positive = [&](const Instruction& value, int64_t bound) {
      ask(value, std::max<int64_t>(bound, 1));
    };
    AskAtUse(instruction, ask_positive);
    if (demand == kNoDemand) return;
    switch (instruction.opcode) {
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply:
      case Opcode::kDivide:
        return AskOfArithmetic(instruction, demand, ask);
      case Opcode::kMaximum:
      case Opcode::kMinimum:
        ask(*instruction.operands[0], demand);
        ask(*instruction.operands[1], demand);
        return;
      default:
        AskOfMoved(instruction, demand, ask);
    }
  }

 private:
  static void AskAtUse(const Instruction& instruction, Ask ask) {
    switch (instruction.opcode) {
      case Opcode::kGather:
        return AskOfGather(instruction, ask);
      case Opcode::kScatter:
        return AskOfScatter(instruction, ask);
      case Opcode::kDynamicSlice:
        return AskOfOffsets(instruction, 1,
                            instruction.attributes->dynamic_slice_sizes, ask);
      case Opcode::kDynamicUpdateSlice:
        return AskOfOffsets(instruction, 2,
                            instruction.operand_shape(1).dimensions, ask);
      case Opcode::kCompare:
        return AskOfCompare(instruction, ask);
      default:
        return;
    }
  }
};

}  // namespace

std::map<int64_t, int64_t> IndexBounds(const Module& module) {
  const std::vector<int64_t> demands = ParameterDemands(module, IndexRule());
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  std::map<int64_t, int64_t> bounds;
  for (size_t i = 0; i < demands.size(); ++i) {
    if (demands[i] == kNoDemand) continue;
    if (!IsInteger(parameters[i]->shape.element_type)) continue;
    bounds[static_cast<int64_t>(i)] = demands[i];
  }
  return bounds;
}

}  // namespace meshwright
