// Reading and writing slices at computed positions.
#include <algorithm>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

// What gather and scatter have in common. `data` is the array that is indexed;
// `window` has the slices plus one dimension per index dimension.
struct Indexing {
  const Shape& data;
  const Shape& indices;
  int64_t index_vector_dim;
  const std::vector<int64_t>& index_map;      // Index element to data dim.
  const std::vector<int64_t>& dropped;        // Data dims without a window dim.
  const std::vector<int64_t>& data_batch;     // Data dims paired with...
  const std::vector<int64_t>& indices_batch;  // ...these of the indices.
  const std::vector<int64_t>& window_dims;    // The window's slice dims.
};

absl::Status CheckSorted(absl::string_view what,
                         const std::vector<int64_t>& dimensions) {
  if (std::is_sorted(dimensions.begin(), dimensions.end())) {
    return absl::OkStatus();
  }
  return Bad(what, " must be ascending; got ", Describe(dimensions));
}

int64_t BatchRank(const Indexing& indexing) {
  const int64_t rank = indexing.indices.rank();
  return indexing.index_vector_dim < rank ? rank - 1 : rank;
}

absl::Status CheckIndexVector(const Indexing& indexing) {
  const Shape& indices = indexing.indices;
  if (!IsInteger(indices.element_type)) {
    return Bad("indices must be integers; got ", Describe(indices));
  }
  const int64_t dim = indexing.index_vector_dim;
  if (dim < 0 || dim > indices.rank()) {
    return Bad("index_vector_dim out of range; expected 0 <= d <= ",
               indices.rank(), ", got ", dim);
  }
  const int64_t length = dim == indices.rank() ? 1 : indices.dimensions[dim];
  if (std::ssize(indexing.index_map) != length) {
    return Bad("the index vector's length differs from the map to operand ",
               "dimensions; expected ", length, ", got ",
               indexing.index_map.size());
  }
  return absl::OkStatus();
}

absl::Status CheckBatching(const Indexing& indexing) {
  const std::vector<int64_t>& of_data = indexing.data_batch;
  const std::vector<int64_t>& of_indices = indexing.indices_batch;
  if (of_data.size() != of_indices.size()) {
    return Bad("wrong number of batching dimensions; expected as many for the ",
               "operand and the indices, got ", of_data.size(), " and ",
               of_indices.size());
  }
  DimensionSet seen;
  const Shape& indices = indexing.indices;
  if (indexing.index_vector_dim < indices.rank()) {
    seen.set(static_cast<size_t>(indexing.index_vector_dim));
  }
  MW_RETURN_IF_ERROR(CheckDimensions("indices batching dims", of_indices,
                                     indices.rank(), seen));
  for (size_t i = 0; i < of_data.size(); ++i) {
    const int64_t data_size = indexing.data.dimensions[of_data[i]];
    const int64_t indices_size = indices.dimensions[of_indices[i]];
    if (data_size != indices_size) {
      return Bad("batching dimension ", i, " differs in size; expected ",
                 data_size, ", got ", indices_size);
    }
  }
  return absl::OkStatus();
}

// Sets `no_window` to the data dimensions that have no window dimension.
absl::Status CheckIndexing(const Indexing& indexing, DimensionSet& no_window) {
  MW_RETURN_IF_ERROR(CheckIndexVector(indexing));
  const int64_t rank = indexing.data.rank();
  MW_RETURN_IF_ERROR(CheckDimensions("collapsed or inserted dims",
                                     indexing.dropped, rank, no_window));
  DimensionSet indexed;
  MW_RETURN_IF_ERROR(CheckDimensions("map to operand dims", indexing.index_map,
                                     rank, indexed));
  MW_RETURN_IF_ERROR(CheckDimensions("operand batching dims",
                                     indexing.data_batch, rank, no_window));
  MW_RETURN_IF_ERROR(CheckDimensions("operand batching dims",
                                     indexing.data_batch, rank, indexed));
  MW_RETURN_IF_ERROR(CheckBatching(indexing));
  MW_RETURN_IF_ERROR(
      CheckSorted("collapsed or inserted dims", indexing.dropped));
  MW_RETURN_IF_ERROR(CheckSorted("operand batching dims", indexing.data_batch));
  MW_RETURN_IF_ERROR(CheckSorted("window dims", indexing.window_dims));
  const int64_t window_dims =
      rank - std::ssize(indexing.dropped) - std::ssize(indexing.data_batch);
  if (std::ssize(indexing.window_dims) != window_dims) {
    return Bad("wrong number of window dimensions; expected ", window_dims,
               ", got ", indexing.window_dims.size());
  }
  return CheckDimensions("window dims", indexing.window_dims,
                         window_dims + BatchRank(indexing));
}

absl::Status CheckSliceSizes(const Shape& operand,
                             const std::vector<int64_t>& sizes,
                             const DimensionSet& no_window) {
  if (std::ssize(sizes) != operand.rank()) {
    return Bad("wrong number of slice sizes; expected ", operand.rank(),
               ", got ", sizes.size());
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t limit = no_window[d]
                              ? std::min<int64_t>(1, operand.dimensions[d])
                              : operand.dimensions[d];
    if (sizes[d] < 0 || sizes[d] > limit) {
      return Bad("slice size of dimension ", d, " is out of range; expected ",
                 "0 <= size <= ", limit, ", got ", sizes[d]);
    }
  }
  return absl::OkStatus();
}

// The sizes of the indices' dimensions other than the index vector.
std::vector<int64_t> BatchSizes(const Indexing& indexing) {
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < indexing.indices.rank(); ++d) {
    if (d != indexing.index_vector_dim) {
      sizes.push_back(indexing.indices.dimensions[d]);
    }
  }
  return sizes;
}

absl::Status CheckUpdates(const Indexing& indexing, const Shape& updates,
                          const DimensionSet& no_window) {
  const std::vector<int64_t> batch = BatchSizes(indexing);
  const int64_t rank = std::ssize(indexing.window_dims) + std::ssize(batch);
  if (updates.rank() != rank) {
    return Bad("the updates have the wrong rank; expected ", rank, ", got ",
               Describe(updates));
  }
  size_t next_window = 0;
  size_t next_batch = 0;
  size_t data_dim = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = updates.dimensions[d];
    if (next_window < indexing.window_dims.size() &&
        indexing.window_dims[next_window] == d) {
      while (no_window[data_dim]) ++data_dim;
      if (size < 0 || size > indexing.data.dimensions[data_dim]) {
        return Bad("update dimension ", d, " is too large; expected at most ",
                   indexing.data.dimensions[data_dim], ", got ", size);
      }
      ++next_window;
      ++data_dim;
    } else if (size != batch[next_batch++]) {
      return Bad("update dimension ", d, " differs from the indices; expected ",
                 batch[next_batch - 1], ", got ", size);
    }
  }
  return absl::OkStatus();
}

// All operands have the shape of the first one, and all updates that of the
// first update, with the operands' types.
absl::Status CheckVariadic(const Instruction& instruction, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Shape& operand = instruction.operand_shape(i);
    const Shape& update = instruction.operand_shape(count + 1 + i);
    if (operand.dimensions != instruction.operand_shape(0).dimensions ||
        update.dimensions != instruction.operand_shape(count + 1).dimensions) {
      return Bad("operand and updates ", i, " are not shaped like the first; ",
                 "got ", Describe(operand), " and ", Describe(update));
    }
    if (operand.element_type != update.element_type) {
      return Bad("updates ", i, " have the wrong type; expected ",
                 Name(operand.element_type), ", got ",
                 Name(update.element_type));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inferred> InferGather(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  if (!instruction.attributes->gather) {
    return Bad("no gather dimension numbers");
  }
  const GatherDimensionNumbers& numbers = *instruction.attributes->gather;
  const Shape& operand = instruction.operand_shape(0);
  const Indexing indexing = {
      .data = operand,
      .indices = instruction.operand_shape(1),
      .index_vector_dim = numbers.index_vector_dim,
      .index_map = numbers.start_index_map,
      .dropped = numbers.collapsed_slice_dims,
      .data_batch = numbers.operand_batching_dims,
      .indices_batch = numbers.start_indices_batching_dims,
      .window_dims = numbers.offset_dims};
  DimensionSet no_window;
  MW_RETURN_IF_ERROR(CheckIndexing(indexing, no_window));
  const std::vector<int64_t>& sizes =
      instruction.attributes->gather_slice_sizes;
  MW_RETURN_IF_ERROR(CheckSliceSizes(operand, sizes, no_window));
  std::vector<int64_t> dimensions = BatchSizes(indexing);
  size_t data_dim = 0;
  for (const int64_t offset_dim : numbers.offset_dims) {
    while (no_window[data_dim]) ++data_dim;
    dimensions.insert(dimensions.begin() + offset_dim, sizes[data_dim]);
    ++data_dim;
  }
  return Inferred::Array(operand.element_type, std::move(dimensions));
}

absl::StatusOr<Inferred> InferScatter(const Instruction& instruction) {
  const size_t count = instruction.operands.size() / 2;
  if (instruction.operands.size() % 2 == 0) {
    return Bad("expected operands, indices and as many updates; got ",
               instruction.operands.size(), " operands");
  }
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  if (!instruction.attributes->scatter) {
    return Bad("no scatter dimension numbers");
  }
  const ScatterDimensionNumbers& numbers = *instruction.attributes->scatter;
  const Indexing indexing = {
      .data = instruction.operand_shape(0),
      .indices = instruction.operand_shape(count),
      .index_vector_dim = numbers.index_vector_dim,
      .index_map = numbers.scatter_dims_to_operand_dims,
      .dropped = numbers.inserted_window_dims,
      .data_batch = numbers.input_batching_dims,
      .indices_batch = numbers.scatter_indices_batching_dims,
      .window_dims = numbers.update_window_dims};
  DimensionSet no_window;
  MW_RETURN_IF_ERROR(CheckIndexing(indexing, no_window));
  MW_RETURN_IF_ERROR(
      CheckUpdates(indexing, instruction.operand_shape(count + 1), no_window));
  MW_RETURN_IF_ERROR(CheckVariadic(instruction, count));
  if (count == 1) return Inferred::Like(indexing.data);
  std::vector<const Shape*> shapes;
  for (size_t i = 0; i < count; ++i) {
    shapes.push_back(&instruction.operand_shape(i));
  }
  return Inferred::Tuple(std::move(shapes));
}

}  // namespace meshwright
