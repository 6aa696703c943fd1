#include "meshwright/hlo/batch_indices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// What is made of an iota in more steps is left alone.
constexpr int kMaxSteps = 12;

std::optional<int64_t> IotaDimension(const Instruction& value, int steps);

bool IsZero(const Instruction& value) {
  const Instruction* at = &value;
  while (at->opcode == Opcode::kBroadcast || at->opcode == Opcode::kConvert) {
    at = at->operands[0];
  }
  return at->opcode == Opcode::kConstant && at->shape.IsScalar() &&
         at->attributes->literal != nullptr &&
         std::ranges::all_of(at->attributes->literal->data,
                             [](char byte) { return byte == 0; });
}

// Where dimension `from` of the operand is in the result of a reshape that adds
// and removes dimensions of one element.
std::optional<int64_t> ThroughReshape(const Instruction& reshape,
                                      int64_t from) {
  const std::vector<int64_t>& before = reshape.operand_shape(0).dimensions;
  const std::vector<int64_t>& after = reshape.shape.dimensions;
  size_t to = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == 1) continue;
    while (to < after.size() && after[to] == 1) ++to;
    if (to == after.size() || after[to] != before[i]) return std::nullopt;
    if (static_cast<int64_t>(i) == from) return static_cast<int64_t>(to);
    ++to;
  }
  return std::nullopt;
}

// select(i < 0, i + n, i): what counts from the end, which an iota does not.
bool IsWrapped(const Instruction& select, int64_t dimension, int steps) {
  const Instruction& test = *select.operands[0];
  return test.opcode == Opcode::kCompare &&
         test.attributes->comparison_direction == "LT" &&
         IotaDimension(*test.operands[0], steps) == dimension &&
         IsZero(*test.operands[1]);
}

std::optional<int64_t> IotaDimension(const Instruction& value, int steps) {
  if (steps == 0 || !IsInteger(value.shape.element_type)) return std::nullopt;
  const auto of_operand = [&](size_t i) {
    return IotaDimension(*value.operands[i], steps - 1);
  };
  std::optional<int64_t> found;
  switch (value.opcode) {
    case Opcode::kIota:
      found = value.attributes->dimensions[0];
      break;
    case Opcode::kConvert:
    case Opcode::kCopy:
      found = of_operand(0);
      break;
    case Opcode::kBroadcast:
      if (const auto from = of_operand(0); from.has_value()) {
        found = value.attributes->dimensions[*from];
      }
      break;
    case Opcode::kReshape:
      if (const auto from = of_operand(0); from.has_value()) {
        found = ThroughReshape(value, *from);
      }
      break;
    case Opcode::kSelect:
      if (const auto from = of_operand(2);
          from.has_value() && IsWrapped(value, *from, steps - 1)) {
        found = from;
      }
      break;
    default:
      break;
  }
  if (!found.has_value()) return std::nullopt;
  // So many that they are all different.
  const int64_t size = value.shape.dimensions[*found];
  const int64_t bits = BitWidth(value.shape.element_type) - 1;
  if (size < 2 || (bits < 62 && size > int64_t{1} << bits)) return std::nullopt;
  return found;
}

// What a gather and a scatter have in common.
struct Indexing {
  const Shape* operand = nullptr;
  Instruction** indices = nullptr;
  int64_t vector = 0;                      // Dimension of the indices.
  std::vector<int64_t>* map = nullptr;     // Operand dimensions, by component.
  std::vector<int64_t>* slices = nullptr;  // Those of one element.
  std::vector<int64_t>* operand_batch = nullptr;
  std::vector<int64_t>* indices_batch = nullptr;
};

std::optional<Indexing> IndexingOf(Instruction& instruction) {
  if (instruction.opcode == Opcode::kGather) {
    Attributes& attributes = instruction.attributes.mutate();
    if (!attributes.gather.has_value()) return std::nullopt;
    GatherDimensionNumbers& numbers = *attributes.gather;
    return Indexing{&instruction.operand_shape(0),
                    &instruction.operands[1],
                    numbers.index_vector_dim,
                    &numbers.start_index_map,
                    &numbers.collapsed_slice_dims,
                    &numbers.operand_batching_dims,
                    &numbers.start_indices_batching_dims};
  }
  if (instruction.opcode == Opcode::kScatter) {
    Attributes& attributes = instruction.attributes.mutate();
    if (!attributes.scatter.has_value()) return std::nullopt;
    ScatterDimensionNumbers& numbers = *attributes.scatter;
    return Indexing{&instruction.operand_shape(0),
                    &instruction.operands[instruction.operands.size() / 2],
                    numbers.index_vector_dim,
                    &numbers.scatter_dims_to_operand_dims,
                    &numbers.inserted_window_dims,
                    &numbers.input_batching_dims,
                    &numbers.scatter_indices_batching_dims};
  }
  return std::nullopt;
}

// A component of the indices that says which example it is.
struct BatchComponent {
  size_t component = 0;
  int64_t operand_dim = 0;
  int64_t indices_dim = 0;
};

std::optional<BatchComponent> FindBatch(const Indexing& indexing) {
  const Instruction& joined = **indexing.indices;
  // All components from an iota leave nothing to index with.
  if (joined.opcode != Opcode::kConcatenate || indexing.map->size() < 2 ||
      joined.attributes->dimensions[0] != indexing.vector ||
      joined.operands.size() != indexing.map->size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < joined.operands.size(); ++i) {
    const int64_t operand_dim = (*indexing.map)[i];
    const std::optional<int64_t> dimension = IotaDimension(*joined.operands[i]);
    if (dimension.has_value() && *dimension != indexing.vector &&
        joined.operand_shape(i).dimensions[indexing.vector] == 1 &&
        joined.shape.dimensions[*dimension] ==
            indexing.operand->dimensions[operand_dim] &&
        absl::c_linear_search(*indexing.slices, operand_dim) &&
        !absl::c_linear_search(*indexing.indices_batch, *dimension)) {
      return BatchComponent{i, operand_dim, *dimension};
    }
  }
  return std::nullopt;
}

void MakeBatching(const BatchComponent& batch, Indexing& indexing) {
  indexing.map->erase(indexing.map->begin() +
                      static_cast<int64_t>(batch.component));
  std::erase(*indexing.slices, batch.operand_dim);
  // Ascending by the operand's dimension.
  const auto at =
      std::ranges::lower_bound(*indexing.operand_batch, batch.operand_dim) -
      indexing.operand_batch->begin();
  indexing.operand_batch->insert(indexing.operand_batch->begin() + at,
                                 batch.operand_dim);
  indexing.indices_batch->insert(indexing.indices_batch->begin() + at,
                                 batch.indices_dim);
}

// The indices without a component.
Instruction* Without(const Instruction& joined, size_t component,
                     Computation& computation) {
  std::vector<Instruction*> parts = joined.operands;
  parts.erase(parts.begin() + static_cast<int64_t>(component));
  if (parts.size() == 1) return parts[0];
  Shape shape = joined.shape;
  const int64_t along = joined.attributes->dimensions[0];
  shape.dimensions[along] -= joined.operand_shape(component).dimensions[along];
  Instruction* rest =
      computation.Add(Opcode::kConcatenate, std::move(shape), std::move(parts),
                      absl::StrCat(joined.name, ".without.", component));
  rest->attributes = joined.attributes;
  rest->metadata = joined.metadata;
  return rest;
}

void BatchIndicesIn(Computation& computation) {
  std::vector<Instruction*> order;
  Instruction* const root = computation.root();  // What is added becomes it.
  const int32_t count = computation.size();
  for (int32_t id = 0; id < count; ++id) {
    Instruction* instruction = computation.instruction(id);
    if (instruction->opcode == Opcode::kGather ||
        instruction->opcode == Opcode::kScatter) {
      std::optional<Indexing> indexing = IndexingOf(*instruction);
      while (indexing.has_value()) {
        const std::optional<BatchComponent> batch = FindBatch(*indexing);
        if (!batch.has_value()) break;
        const int32_t first = computation.size();
        *indexing->indices =
            Without(**indexing->indices, batch->component, computation);
        for (int32_t i = first; i < computation.size(); ++i) {
          order.push_back(computation.instruction(i));
        }
        MakeBatching(*batch, *indexing);
        instruction->attributes.mutate().indices_are_sorted = false;
      }
    }
    order.push_back(instruction);
  }
  computation.set_root(root);
  if (computation.size() != count) computation.Keep(order);
}

}  // namespace

std::optional<int64_t> IotaDimension(const Instruction& value) {
  return IotaDimension(value, kMaxSteps);
}

void BatchIndices(Module& module) {
  for (const auto& computation : module.computations()) {
    BatchIndicesIn(*computation);
  }
}

}  // namespace meshwright
