// Which axes of a mesh an expert's strategy splits what over.
//
// Axes whose names practitioners use for one purpose have it, in any order:
//
//   AxesOf(Expert::kMegatron, *Mesh::Parse("data=2,fsdp=2,tensor=4"));
//     // batch: data, fsdp; state: fsdp; tensor: tensor
//   AxesOf(Expert::kMegatron, *Mesh::Parse("model=8"));  // tensor: model
//   AxesOf(Expert::kDp, *Mesh::Parse("model=8"));        // batch: model
//
// Of other names the first is the batch's, unless a name says which axis is, or
// it is the only one and the strategy splits weights; the rest are tensor
// parallel.
#ifndef MESHWRIGHT_SEARCH_EXPERT_AXES_H_
#define MESHWRIGHT_SEARCH_EXPERT_AXES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/mesh/axis_list.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/search/expert.h"

namespace meshwright {

// Indices of axes, ascending.
struct ExpertAxes {
  std::vector<int32_t> batch;
  // Over these state is sharded as in FSDP; a part of `batch`.
  std::vector<int32_t> state;
  // Over these experts may be split besides the batch; a part of `batch`.
  std::vector<int32_t> expert;
  std::vector<int32_t> tensor;
  // Over these the sequence is split, if the strategy does so or if axes are
  // named for it.
  std::vector<int32_t> sequence;
};

// `batch_axis`: the one that the user has chosen for the batch, whatever the
// names.
ExpertAxes AxesOf(Expert expert, const Mesh& mesh,
                  std::optional<int32_t> batch_axis = std::nullopt);

AxisList SubAxesOf(const Mesh& mesh, const std::vector<int32_t>& axes);

// Those of `axes`, from the first on, that together divide `size`; none of 0.
AxisList DividingAxes(const Mesh& mesh, const std::vector<int32_t>& axes,
                      int64_t size);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_EXPERT_AXES_H_
