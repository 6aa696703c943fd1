#include "meshwright/hlo/batch_indices.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/literal.h"

namespace meshwright {
namespace {

// What a gather and a scatter have in common.
struct MutableIndexing {
  const Shape* operand = nullptr;
  Instruction** indices = nullptr;
  int64_t vector = 0;                      // Dimension of the indices.
  std::vector<int64_t>* map = nullptr;     // Operand dimensions, by component.
  std::vector<int64_t>* slices = nullptr;  // Dimensions of size one.
  std::vector<int64_t>* operand_batch = nullptr;
  std::vector<int64_t>* indices_batch = nullptr;
};

std::optional<MutableIndexing> IndexingOf(Instruction& instruction) {
  if (instruction.opcode == Opcode::kGather) {
    Attributes& attributes = instruction.attributes.mutate();
    if (!attributes.gather.has_value()) return std::nullopt;
    GatherDimensionNumbers& numbers = *attributes.gather;
    return MutableIndexing{&instruction.operand_shape(0),
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
    return MutableIndexing{
        &instruction.operand_shape(0),
        &instruction.operands[instruction.operands.size() / 2],
        numbers.index_vector_dim,
        &numbers.scatter_dims_to_operand_dims,
        &numbers.inserted_window_dims,
        &numbers.input_batching_dims,
        &numbers.scatter_indices_batching_dims};
  }
  return std::nullopt;
}

// A component of the indices that is the index of the example.
struct BatchComponent {
  size_t component = 0;
  int64_t operand_dim = 0;
  int64_t indices_dim = 0;
};

// How many components the index vectors have.
int64_t VectorSize(const MutableIndexing& indexing) {
  const Shape& indices = (*indexing.indices)->shape;
  return indexing.vector < indices.rank() ? indices.dimensions[indexing.vector]
                                          : 1;
}

std::optional<BatchComponent> FindBatch(const MutableIndexing& indexing,
                                        const IndexSources& sources) {
  const Instruction& indices = **indexing.indices;
  if (VectorSize(indexing) != std::ssize(*indexing.map)) return std::nullopt;
  for (size_t i = 0; i < indexing.map->size(); ++i) {
    const int64_t operand_dim = (*indexing.map)[i];
    const int64_t size = indexing.operand->dimensions[operand_dim];
    if (size < 2 || !absl::c_linear_search(*indexing.slices, operand_dim)) {
      continue;
    }
    std::optional<FixedPosition> fixed;
    if (indexing.vector < indices.shape.rank()) {
      fixed = {indexing.vector, static_cast<int64_t>(i)};
    }
    const std::optional<AffineIndex> index =
        AffineIndexOf(indices, fixed, sources);
    if (!index.has_value()) continue;
    const std::optional<int64_t> dimension = IotaDimension(*index);
    if (dimension.has_value() && indices.shape.dimensions[*dimension] == size &&
        !absl::c_linear_search(*indexing.indices_batch, *dimension)) {
      return BatchComponent{i, operand_dim, *dimension};
    }
  }
  return std::nullopt;
}

// A dimension of the operand that is not indexed, so that 0 as its index
// changes nothing.
std::optional<int64_t> FindUnindexed(const MutableIndexing& indexing) {
  for (int64_t d = 0; d < indexing.operand->rank(); ++d) {
    if (!absl::c_linear_search(*indexing.map, d) &&
        !absl::c_linear_search(*indexing.operand_batch, d)) {
      return d;
    }
  }
  return std::nullopt;
}

void MakeBatching(const BatchComponent& batch, MutableIndexing& indexing) {
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

// Writes the instructions that replace indices, under unique names.
class IndexWriter {
 public:
  IndexWriter(Computation& computation, std::set<std::string>& names)
      : computation_(computation), names_(names) {}

  // The indices without one of several components.
  Instruction* Without(const MutableIndexing& indexing, size_t component) {
    Instruction& indices = **indexing.indices;
    std::vector<Instruction*> parts = PiecesWithout(indexing, component);
    if (parts.empty()) {
      const int64_t at = static_cast<int64_t>(component);
      const int64_t size = VectorSize(indexing);
      if (at > 0) parts.push_back(Slice(indices, indexing.vector, 0, at));
      if (at + 1 < size) {
        parts.push_back(Slice(indices, indexing.vector, at + 1, size));
      }
    }
    if (parts.size() == 1) return parts[0];
    Shape shape = indices.shape;
    --shape.dimensions[indexing.vector];
    Instruction* joined =
        Add(Opcode::kConcatenate, std::move(shape), std::move(parts), indices);
    joined->attributes.mutate().dimensions = {indexing.vector};
    return joined;
  }

  // Index vectors of the same shape, all 0.
  Instruction* Zeros(const Instruction& indices) {
    Literal literal;
    literal.shape = Shape::Scalar(indices.shape.element_type);
    literal.data.assign(HostBytes(indices.shape.element_type), '\0');
    Instruction* zero = Add(Opcode::kConstant, literal.shape, {}, indices);
    zero->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(literal));
    return Add(Opcode::kBroadcast, indices.shape, {zero}, indices);
  }

 private:
  // The other operands, if the indices are a concatenate of components; else
  // empty.
  static std::vector<Instruction*> PiecesWithout(
      const MutableIndexing& indexing, size_t component) {
    const Instruction& indices = **indexing.indices;
    if (indices.opcode != Opcode::kConcatenate ||
        indices.attributes->dimensions[0] != indexing.vector ||
        indices.operands.size() != indexing.map->size()) {
      return {};
    }
    std::vector<Instruction*> pieces = indices.operands;
    pieces.erase(pieces.begin() + static_cast<int64_t>(component));
    return pieces;
  }

  Instruction* Slice(Instruction& indices, int64_t along, int64_t start,
                     int64_t limit) {
    Shape shape = indices.shape;
    shape.dimensions[along] = limit - start;
    Instruction* slice =
        Add(Opcode::kSlice, std::move(shape), {&indices}, indices);
    std::vector<SliceDimension>& taken = slice->attributes.mutate().slice;
    for (const int64_t size : indices.shape.dimensions) {
      taken.push_back({.start = 0, .limit = size, .stride = 1});
    }
    taken[along] = {.start = start, .limit = limit, .stride = 1};
    return slice;
  }

  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands,
                   const Instruction& like) {
    std::string name;
    for (int i = 0; name.empty() || !names_.insert(name).second; ++i) {
      name = absl::StrCat(like.name, ".batched.", i);
    }
    Instruction* added =
        computation_.Add(opcode, std::move(shape), std::move(operands), name);
    added->metadata = like.metadata;
    return added;
  }

  Computation& computation_;
  std::set<std::string>& names_;
};

// Makes one component a batching dimension; false if that is impossible.
bool BatchOne(const BatchComponent& batch, IndexWriter& writer,
              MutableIndexing& indexing) {
  if (indexing.map->size() > 1) {
    *indexing.indices = writer.Without(indexing, batch.component);
    MakeBatching(batch, indexing);
    return true;
  }
  // No component would be left as an index.
  const std::optional<int64_t> other = FindUnindexed(indexing);
  if (!other.has_value()) return false;
  *indexing.indices = writer.Zeros(**indexing.indices);
  MakeBatching(batch, indexing);
  indexing.map->push_back(*other);
  return true;
}

void BatchIndicesIn(const IndexSources& sources, Computation& computation,
                    std::set<std::string>& names) {
  std::vector<Instruction*> order;
  // Adding instructions changes it.
  Instruction* const root = computation.root();
  const int32_t count = computation.size();
  IndexWriter writer(computation, names);
  for (int32_t id = 0; id < count; ++id) {
    Instruction* instruction = computation.instruction(id);
    if (instruction->opcode == Opcode::kGather ||
        instruction->opcode == Opcode::kScatter) {
      std::optional<MutableIndexing> indexing = IndexingOf(*instruction);
      while (indexing.has_value()) {
        const std::optional<BatchComponent> batch =
            FindBatch(*indexing, sources);
        const int32_t first = computation.size();
        if (!batch.has_value() || !BatchOne(*batch, writer, *indexing)) break;
        for (int32_t i = first; i < computation.size(); ++i) {
          order.push_back(computation.instruction(i));
        }
        instruction->attributes.mutate().indices_are_sorted = false;
      }
    }
    order.push_back(instruction);
  }
  computation.set_root(root);
  if (computation.size() != count) computation.Keep(order);
}

}  // namespace

void BatchIndices(Module& module, const IndexSources& sources) {
  std::set<std::string> names;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      names.insert(instruction->name);
    }
  }
  for (const auto& computation : module.computations()) {
    BatchIndicesIn(sources, *computation, names);
  }
}

}  // namespace meshwright
