// Stage assignment as a mixed-integer program.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_MIP_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_MIP_H_

#include <cstdint>
#include <vector>

#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/solve/mip.h"

namespace meshwright {

// The program whose optimum is the stages with the fewest cut bytes. Variables:
// for every node and every stage that it may be on but the last, whether it is
// on it or before; for every value and stage, whether it must be sent there.
class StageMip {
 public:
  // `ranges` and `work` are by node; no stage gets more work than `bounds`.
  // Requires: no range begins before those of the node's predecessors, or ends
  // after those of its successors. The graph must outlive it.
  StageMip(const StageGraph& graph, const std::vector<StageRange>& ranges,
           const std::vector<double>& work, const std::vector<double>& bounds);

  // Limits the bytes held by each stage to `memory`.
  void LimitMemory(const std::vector<int64_t>& memory);
  // Forbids empty stages.
  void UseAllStages();

  const Mip& mip() const { return mip_; }
  // Converts an objective value of mip() to bytes.
  double BytesOf(double cost) const { return cost * unit_ + constant_; }

  // Conversions between a solution and the stage of each node.
  std::vector<StageId> StagesOf(const std::vector<double>& values) const;
  std::vector<double> ValuesOf(const std::vector<StageId>& stages) const;

 private:
  // A row under construction: sum <= most.
  struct Sum {
    std::vector<MipTerm> terms;
    double most = 0;
  };
  // Adds `factor` times the indicator of the node being on `stage` or before;
  // or of being on it.
  void AddBefore(int32_t node, StageId stage, double factor, Sum& sum) const;
  void AddOn(int32_t node, StageId stage, double factor, Sum& sum) const;
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
  // Variables of values that are sent to a stage.
  struct Crossing {
    const StageGraph::Value* value = nullptr;
    StageId stage;
    int32_t variable = 0;
  };
  std::vector<Crossing> crossings_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_MIP_H_
