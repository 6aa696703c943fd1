// "Which strategy for each group of ops on this mesh" as a problem for solve/.
//
// A node per group, an option per strategy. What computing takes is the cost of
// a node, moving an operand that of an edge. A value that several groups use
// has a node of its own, for the form in which they share it: as it is made, or
// moved once. Memory is bounded at every point of the step model.
#ifndef MESHWRIGHT_SEARCH_MESH_PROBLEM_H_
#define MESHWRIGHT_SEARCH_MESH_PROBLEM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/pool.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/search/demands.h"
#include "meshwright/search/options.h"
#include "meshwright/search/step_model.h"
#include "meshwright/search/step_time.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

// Problems count time in these.
inline constexpr double kUnitsPerSecond = 1e12;
inline double SecondsOfUnits(int64_t units) {
  return static_cast<double>(units) / kUnitsPerSecond;
}

// Bounds the memory of a problem at every one of `points` moments. What hardly
// counts is taken from the limit and not looked at again.
void LimitMemory(int64_t limit, int32_t points, Problem& problem);

// Values (StepModel::values) that are moved once for all that use them.
using SharedForms = std::map<int32_t, Sharding>;

class MeshProblem {
 public:
  // Of the problem: all, or the groups alone, with neither moves nor memory.
  enum class Parts : uint8_t { kAll, kWork };

  // All outlive it. `rates` may be null: the prices tell what computing takes.
  // No `memory_limit`: memory is not bounded. `only` as in OptionMaker::For. Of
  // `stages`, each holds its part of what is kept from micro-batch to
  // micro-batch.
  MeshProblem(const StepModel& model, const Mesh& mesh, const Prices& prices,
              const Rates* rates, Resharder& resharder,
              std::optional<int64_t> memory_limit, const Demands& demands,
              const OneAxisFree* only = nullptr, double stages = 1,
              Parts parts = Parts::kAll);

  const Problem& problem() const { return problem_; }
  const ShardingPool& pool() const { return pool_; }
  const std::vector<Option>& options(int32_t group) const {
    return options_[group];
  }
  // Groups with no option that the demand allows.
  const std::vector<int32_t>& impossible() const { return impossible_; }

  // Seconds that computing takes at least, however it is split.
  double LeastWork() const;

  // Options that lie along the axes as those of a plan on another mesh do, to
  // start from; see AxisPlaces.
  // `shared`: values that are moved for all, and how, if of the same mesh.
  std::vector<int32_t> Like(const std::vector<AxisPlaces>& placements,
                            const SharedForms& shared) const;
  SharedForms SharedOf(absl::Span<const int32_t> chosen) const;
  // What was chosen, by group.
  std::vector<AxisPlaces> PlacementsOf(absl::Span<const int32_t> chosen) const;

  // What a solution of problem() takes, with what loops carry in another way
  // than it lies outside of them, which the problem does not count.
  struct Memory {
    int64_t peak = 0;
    bool fits = true;  // Hardly above the limit at any time.
  };
  Memory MemoryOf(absl::Span<const int32_t> chosen) const;
  // Has loops carry no less of a value than is kept of it beside; returns a
  // solution to start from that does what `chosen` did otherwise.
  std::vector<int32_t> CarryAll(absl::Span<const int32_t> chosen);

  // What a solution takes, as its program will be; requires rates. Linear.
  StepTime TimeOf(absl::Span<const int32_t> chosen) const;

  // Of a solution of problem().
  Assignment ToAssignment(absl::Span<const int32_t> chosen) const;

  // Bytes on a device of a value in this sharding.
  double LocalBytes(const Shape& shape, ShardingId sharding) const;

 private:
  struct Copy {
    int32_t value = 0;
    std::vector<ShardingId> forms;  // Options: as made, then moved.
  };

  void AddGroup(int32_t group, std::vector<Option> options);
  void AddStatePair(int32_t parameter, int32_t output);
  void AddCopies();
  void AddUses();
  bool CarriesLess(const HeldValue& held, const Option& of,
                   const Option& by) const;
  // The body that the option's local sizes ask for; null if it is no kernel.
  const Computation* BodyOf(int32_t group, const Option& option) const;
  double WorkOf(int32_t group, const Option& option) const;
  bool IsKept(int32_t group) const;  // From micro-batch to micro-batch.
  void AddUsage(const std::vector<float>& alive,
                const std::vector<double>& bytes, ProblemNode& node) const;
  // The table of moving from forms to forms, `weight` times.
  int32_t MoveTable(ElementType type, const std::vector<ShardingId>& from,
                    const std::vector<ShardingId>& to, double weight);
  int32_t AsMade(const Copy& copy, absl::Span<const int32_t> chosen) const;
  std::vector<Sharing> SharingOf(absl::Span<const int32_t> chosen) const;
  std::vector<ShardingId> Results(int32_t value) const;
  ShardingId ResultOf(int32_t value, absl::Span<const int32_t> chosen) const;
  std::vector<ShardingId> Operands(int32_t group, int32_t operand) const;

  const StepModel& model_;
  const Mesh& mesh_;
  const Prices& prices_;
  const Rates* rates_;
  const double stages_;
  Resharder& resharder_;
  Problem problem_;
  ShardingPool pool_;
  std::vector<std::vector<Option>> options_;  // By group.
  std::vector<int32_t> impossible_;
  std::vector<int32_t> copy_of_;    // By value: a node, or -1.
  std::map<int32_t, Copy> copies_;  // By node.
  // By bits of an element, lists of forms, and weight.
  std::map<std::tuple<int64_t, int32_t, int32_t, int64_t>, int32_t> tables_;
  std::map<std::vector<ShardingId>, int32_t> lists_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_MESH_PROBLEM_H_
