// Which parameters of a step hold the batch, and in which dimension.
#ifndef MESHWRIGHT_MICROBATCH_BATCH_DIMENSIONS_H_
#define MESHWRIGHT_MICROBATCH_BATCH_DIMENSIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/module.h"
#include "meshwright/microbatch/micro_batches.h"

namespace meshwright {

// Frontend attribute of a parameter: the dimension that is the batch's. If some
// parameters have it, the others hold no batch.
inline constexpr char kBatchAttribute[] = "mw.batch";

// By leaf array of the parameters; see MicroBatchOptions. The batch is taken to
// be the size of data parameters by which most of the step's work can be split:
// of dimension 0, or of dimension 1 if that splits clearly more (time-major
// inputs), or is the same of all where dimension 0 is not and splits nothing
// (several views of each example). kInvalidArgument if a given dimension does
// not exist or cannot be split, or none is found.
absl::StatusOr<std::vector<std::optional<int64_t>>> BatchDimensions(
    const Module& module, const FlatGraph& graph,
    const MicroBatchOptions& options);

// Numbers the leaves of all parameters in order.
class ParameterLeaves {
 public:
  explicit ParameterLeaves(const Module& module);

  // The leaf of the array that an alias or donor names.
  size_t Of(int64_t parameter, const std::vector<int64_t>& index) const;

 private:
  std::vector<const Shape*> shapes_;
  std::vector<size_t> first_;  // By parameter.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_BATCH_DIMENSIONS_H_
