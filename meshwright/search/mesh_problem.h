// "Which strategy for each group of ops on this mesh" as a problem for solve/.
//
// A node per group, with an option per strategy. The cost of a node is
// computing; the cost of an edge is resharding an operand. A value with several
// users has a node of its own, whose options are the shared forms: the sharding
// that it is produced in, or one to which it is resharded once for all its
// users. Memory is bounded at every memory point of the step model.
#ifndef MESHWRIGHT_SEARCH_MESH_PROBLEM_H_
#define MESHWRIGHT_SEARCH_MESH_PROBLEM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/pool.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/search/cost_units.h"
#include "meshwright/search/mesh_task.h"
#include "meshwright/search/options.h"
#include "meshwright/search/reshard_tables.h"
#include "meshwright/search/step_model.h"
#include "meshwright/search/step_time.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

struct LocalWork;

// Bounds the memory of a problem at each of its `points` memory points. Small
// contributions are subtracted from the limit once instead of being tracked.
void LimitMemory(int64_t limit, int32_t points, const MeshPolicy& policy,
                 Problem& problem);

class MeshProblem {
 public:
  // Everything, or only the groups' nodes, without reshards and memory.
  enum class Parts : uint8_t { kAll, kWork };

  // All arguments must outlive this. Without a memory limit in `task`, memory
  // is not bounded. `only` as in OptionMaker::For.
  MeshProblem(const StepModel& model, const MeshTask& task,
              Resharder& resharder, const OneAxisFree* only = nullptr,
              Parts parts = Parts::kAll);
  MeshProblem(const MeshProblem&) = delete;
  MeshProblem& operator=(const MeshProblem&) = delete;

  const Problem& problem() const { return problem_; }
  const ShardingPool& pool() const { return pool_; }
  const std::vector<Option>& options(GroupId group) const {
    return options_[group];
  }
  // Groups without any option that the requirements allow.
  const std::vector<GroupId>& impossible() const { return impossible_; }

  // A lower bound on the seconds of computing, whatever the strategies.
  double LeastWork() const;

  // An initial solution: for each group the option that is closest to its axis
  // places in a plan, possibly of another mesh; see AxisPlaces. `shared`:
  // the shared forms of that plan, if it is of the same mesh.
  std::vector<int32_t> WarmStart(const std::vector<AxisPlaces>& axis_places,
                                 const SharedForms& shared) const;
  SharedForms SharedOf(absl::Span<const int32_t> chosen) const;
  // The axis places that were chosen, by group.
  std::vector<AxisPlaces> PlacesOf(absl::Span<const int32_t> chosen) const;

  // The memory of a solution of problem(), including loop-carried values that
  // have another sharding inside the loop than outside of it, which the problem
  // itself does not count.
  struct Memory {
    int64_t peak = 0;
    bool fits = true;  // At no point more than marginally above the limit.
  };
  Memory MemoryOf(absl::Span<const int32_t> chosen) const;
  // Adds the restriction that no loop carries a value in a sharding with less
  // per-device memory than the copy kept outside of the loop. Returns an
  // initial solution for it that is otherwise equal to `chosen`.
  std::vector<int32_t> CarryAll(absl::Span<const int32_t> chosen);

  // The estimated step time of a solution as a lowered program; requires
  // Objective::kTime. Linear in the step.
  StepTime TimeOf(absl::Span<const int32_t> chosen) const;

  // The assignment of a solution of problem().
  Assignment ToAssignment(absl::Span<const int32_t> chosen) const;

  // Bytes per device of a value with this sharding.
  double LocalBytes(const Shape& shape, ShardingId sharding) const;

 private:
  struct Copy {
    GroupValueId value;
    // Options: as produced, then reshards of it.
    std::vector<ShardingId> forms;
  };

  void AddGroup(GroupId group, std::vector<Option> options);
  void AddStatePair(GroupId parameter, GroupId output);
  void AddCopies();
  void AddUses();
  bool CarriesLess(const HeldValue& held, const Option& of,
                   const Option& by) const;
  // The kernel variant for the option's local shapes; null if the group is not
  // a kernel.
  const Computation* BodyOf(GroupId group, const Option& option) const;
  double WorkOf(GroupId group, const Option& option) const;
  double ComputingOf(GroupId group, const Option& option,
                     std::optional<double> flops) const;
  LocalWork LocalWorkOf(GroupId group, const Option& option,
                        const Work& work) const;
  // Whether it is a residual, kept per micro-batch.
  bool IsKept(GroupId group) const;
  void AddUsage(const std::vector<float>& alive,
                const std::vector<double>& bytes, ProblemNode& node) const;
  void AddWorkspace(GroupId group, ProblemNode& node) const;
  int32_t AsMade(const Copy& copy, absl::Span<const int32_t> chosen) const;
  std::vector<Sharing> SharingOf(absl::Span<const int32_t> chosen) const;
  std::vector<ShardingId> Results(GroupValueId value) const;
  ShardingId ResultOf(GroupValueId value,
                      absl::Span<const int32_t> chosen) const;
  std::vector<ShardingId> Operands(GroupId group, int32_t operand) const;

  const StepModel& model_;
  const MeshTask& task_;
  const Mesh& mesh_;
  Resharder& resharder_;
  Problem problem_;
  ShardingPool pool_;
  ReshardTables reshards_;
  std::vector<std::vector<Option>> options_;  // By group.
  std::vector<GroupId> impossible_;
  std::vector<int32_t> copy_of_;    // By value: its node, or -1.
  std::map<int32_t, Copy> copies_;  // By node.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_MESH_PROBLEM_H_
