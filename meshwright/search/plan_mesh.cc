#include "meshwright/search/plan_mesh.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// A group has no option.
absl::Status Impossible(const StepModel& model, const MeshTask& task,
                        GroupId group) {
  const Instruction& instruction = *model.op(group).instruction;
  const auto pins = task.requirements.pins.find(group);
  if (pins == task.requirements.pins.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        instruction.name, " cannot be split as asked for on the mesh ",
        task.mesh.ToString()));
  }
  std::string asked;
  for (const GroupPin& pin : pins->second) {
    absl::StrAppend(&asked, asked.empty() ? "" : ", ", pin.name,
                    " is pinned to ", ToString(pin.asked, task.mesh));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(asked, ": no way to split this ", instruction.opcode_name(),
                   " gives that on the mesh ", task.mesh.ToString(),
                   "; pin another dimension, or what uses it"));
}

absl::StatusOr<MeshPlan> SolveOn(const StepModel& model, const MeshTask& task,
                                 Resharder& resharder,
                                 const OneAxisFree* only) {
  MeshProblem problem(model, task, resharder, only);
  if (!problem.impossible().empty()) {
    return Impossible(model, task, problem.impossible()[0]);
  }
  SolveOptions options = task.solve;
  if (!task.warm_start.empty())
    options.initial =
        problem.WarmStart(task.warm_start, task.warm_start_shared);
  MW_ASSIGN_OR_RETURN(Solution solution, Solve(problem.problem(), options));
  if (!problem.MemoryOf(solution.assignment).fits) {
    options.initial = problem.CarryAll(solution.assignment);
    absl::StatusOr<Solution> other = Solve(problem.problem(), options);
    if (other.ok() &&
        static_cast<double>(other->cost) <=
            task.policy.worth_fitting * static_cast<double>(solution.cost)) {
      // Its own bound does not hold for plans that carry less and do fit.
      other->lower_bound = std::min(solution.lower_bound, other->lower_bound);
      solution = *std::move(other);
    }
  }
  MeshPlan plan;
  plan.assignment = problem.ToAssignment(solution.assignment);
  plan.seconds = SecondsOfUnits(solution.cost);
  if (only == nullptr) {
    plan.bound_seconds = SecondsOfUnits(solution.lower_bound);
  }
  plan.time = task.objective == Objective::kTime
                  ? problem.TimeOf(solution.assignment)
                  : StepTime{.seconds = plan.seconds};
  plan.peak_bytes = Evaluate(problem.problem(), solution.assignment).peak_usage;
  plan.axis_places = problem.PlacesOf(solution.assignment);
  plan.shared = problem.SharedOf(solution.assignment);
  return plan;
}

}  // namespace

absl::StatusOr<MeshPlan> PlanMesh(const StepModel& model,
                                  const MeshTask& task) {
  Resharder resharder(&task.mesh, task.prices, task.ways);
  return SolveOn(model, task, resharder, nullptr);
}

double BoundOf(const StepModel& model, const MeshTask& task) {
  Resharder resharder(&task.mesh, task.prices, task.ways);
  return MeshProblem(model, task, resharder, nullptr, MeshProblem::Parts::kWork)
      .LeastWork();
}

int64_t CellsOf(const StepModel& model, const Mesh& mesh) {
  // An axis is assigned to any factor, or to none.
  const auto options = [&](GroupId group) {
    double count = 1;
    for (size_t i = 0; i < mesh.axes().size(); ++i) {
      count *= static_cast<double>(model.rule(group).factors.size() + 1);
    }
    return count;
  };
  double cells = 0;
  for (const GroupUse& use : model.uses) {
    cells += options(model.values[use.value].group) * options(use.user);
  }
  return static_cast<int64_t>(std::min(cells, 1e18));
}

namespace {

// Axis by axis. Starting from nothing sharded, pinned ops may have no
// compatible options yet, so that the initial choice is arbitrary.
absl::StatusOr<MeshPlan> SketchByAxis(const StepModel& model,
                                      const MeshTask& task) {
  const int32_t axes = static_cast<int32_t>(task.mesh.axes().size());
  Resharder resharder(&task.mesh, task.prices, task.ways);
  MeshTask part = task;
  OneAxisFree only{.places = task.warm_start};
  absl::StatusOr<MeshPlan> best = absl::InternalError("nothing tried");
  const auto solve = [&](int32_t axis) -> absl::Status {
    only.free = axis;
    part.warm_start = only.places;
    absl::StatusOr<MeshPlan> plan = SolveOn(model, part, resharder, &only);
    if (!plan.ok()) return plan.status();
    only.places = plan->axis_places;
    part.warm_start_shared = plan->shared;
    if (!best.ok() || plan->seconds <= best->seconds) best = std::move(plan);
    return absl::OkStatus();
  };
  if (std::ssize(only.places) != model.groups.count()) {
    // One axis after the other, each with the memory saving expected from those
    // after it.
    only.places.assign(model.groups.count(), AxisPlaces(axes, kNowhere));
    double room = static_cast<double>(task.mesh.device_count());
    for (int32_t i = 0; i < axes; ++i) {
      const int32_t axis = (task.first_axis + i) % axes;
      room /= static_cast<double>(task.mesh.axes()[axis].size);
      if (task.memory_limit.has_value()) {
        part.memory_limit = static_cast<int64_t>(
            room * static_cast<double>(*task.memory_limit));
      }
      best = absl::InternalError("no plan of all axes yet");
      MW_RETURN_IF_ERROR(solve(axis));
    }
  } else {
    for (AxisPlaces& places : only.places) {
      places.resize(axes, places.empty() ? kNowhere : places.back());
    }
  }
  // Until no axis other than the last one that gained improves it.
  absl::Status last;
  double least = task.warm_start_seconds.value_or(
      best.ok() ? best->seconds : std::numeric_limits<double>::infinity());
  int32_t in_vain = 0;
  for (int32_t turn = 0;
       turn < task.policy.axis_rounds * axes && in_vain + 1 < axes; ++turn) {
    last = solve((task.first_axis + turn) % axes);
    if (!best.ok() && !task.warm_start_seconds.has_value()) continue;
    const double now = best.ok() ? best->seconds : least;
    in_vain = now < (1 - task.policy.least_gain) * least ? 0 : in_vain + 1;
    least = std::min(least, now);
  }
  if (!best.ok() && !last.ok()) return last;
  return best;
}

}  // namespace

absl::StatusOr<MeshPlan> SketchMesh(const StepModel& model,
                                    const MeshTask& task) {
  const int32_t axes = static_cast<int32_t>(task.mesh.axes().size());
  if (axes < 2) return PlanMesh(model, task);
  absl::StatusOr<MeshPlan> plan = SketchByAxis(model, task);
  if (plan.ok() || task.requirements.pins.empty()) return plan;
  MeshTask other = task;
  other.warm_start.clear();
  other.warm_start_shared.clear();
  other.warm_start_seconds.reset();
  for (int32_t first = 0; first < axes && !plan.ok(); ++first) {
    if (first == task.first_axis && task.warm_start.empty()) continue;
    other.first_axis = first;
    plan = SketchByAxis(model, other);
  }
  if (plan.ok() || CellsOf(model, task.mesh) > task.policy.most_cells)
    return plan;
  return PlanMesh(model, other);
}

}  // namespace meshwright
