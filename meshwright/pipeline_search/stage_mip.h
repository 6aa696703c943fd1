// Stages as a mixed-integer programme.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_MIP_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_MIP_H_

#include <cstdint>
#include <vector>

#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/solve/mip.h"

namespace meshwright {

// The programme of the cheapest stages: for every node and stage that it may be
// on but the last, whether it is there or before; for every value and stage,
// whether it must get there.
class StageMip {
 public:
  // `ranges`, `work` by node; no stage gets more work than `bounds`. Requires:
  // no range begins before those of what the node needs, or ends after those of
  // what needs it. The graph outlives it.
  StageMip(const StageGraph& graph, const std::vector<StageRange>& ranges,
           const std::vector<double>& work, const std::vector<double>& bounds);

  // Nor more bytes held than `memory`, by stage.
  void LimitMemory(const std::vector<int64_t>& memory);
  // No stage is empty.
  void UseAllStages();

  const Mip& mip() const { return mip_; }
  // What a cost of mip() is in bytes.
  double BytesOf(double cost) const { return cost * unit_ + constant_; }

  // By node: its stage in a solution; and the other way round.
  std::vector<int32_t> StagesOf(const std::vector<double>& values) const;
  std::vector<double> ValuesOf(const std::vector<int32_t>& stages) const;

 private:
  // A row that is being made: sum <= most.
  struct Sum {
    std::vector<MipTerm> terms;
    double most = 0;
  };
  // Adds, times `factor`, whether the node is on `stage` or before it; or on
  // it.
  void AddBefore(int32_t node, int32_t stage, double factor, Sum& sum) const;
  void AddOn(int32_t node, int32_t stage, double factor, Sum& sum) const;
  void AddRow(Sum sum);
  void AddNodes();
  void AddValue(const StageGraph::Value& value);
  void AddConstant(const StageGraph::Value& value);

  const StageGraph& graph_;
  int32_t stages_;
  std::vector<StageRange> ranges_;
  Mip mip_;
  double unit_ = 1;
  double constant_ = 0;
  std::vector<int32_t> first_variable_;  // By node.
  // Variables for values that cross into a stage.
  struct Crossing {
    const StageGraph::Value* value = nullptr;
    int32_t stage = 0;
    int32_t variable = 0;
  };
  std::vector<Crossing> crossings_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_MIP_H_
