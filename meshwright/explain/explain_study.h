// Re-solves the problem of a plan under changed conditions: with every option
// of every group or, where the planner does not look at all of them, with those
// that place one axis otherwise.
//
//   MW_ASSIGN_OR_RETURN(auto study, PlanStudy::Of(module, plan, {}));
//   study->Ask({})->seconds;                          // 0.0312
//   study->Ask({.group = 7, .option = 3})->seconds;   // 0.0330: forced
//   study->Ask({.link_speed = 0.5})->seconds;         // 0.0401
//
// The mesh and the micro-batches stay those of the plan. Times are as the
// search counts them. Answers are deterministic.
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_STUDY_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_STUDY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/mesh_problem.h"
#include "meshwright/search/step_model.h"
#include "meshwright/solve/solve.h"

namespace meshwright {

// Savings below this part of the step are rounding errors.
inline constexpr double kNoticeable = 1e-5;

// What differs from the plan's own setting.
struct Whatif {
  GroupId group = kNoGroup;  // Must take `option`.
  int32_t option = -1;
  double link_speed = 1;          // Links are faster by this factor.
  std::optional<int64_t> memory;  // Bytes per device.
  bool any_memory = false;        // Unlimited memory.
  bool any_strategy = false;      // Without what --strategy demands.
  bool no_pins = false;
  std::set<GroupId> unpinned;  // Groups whose pins are ignored.
  // The index of the forbidden collective that is allowed, or all.
  int32_t allowed = kNothingMore;

  static constexpr int32_t kNothingMore = -1;
  static constexpr int32_t kAnyCollective = -2;
};

struct Answer {
  double seconds = 0;
  double bound = 0;  // A lower bound.
  double compute_seconds = 0;
  double move_seconds = 0;
  int64_t peak_bytes = 0;
  std::vector<int32_t> nodes;  // By node of the problem: groups, then others.
};

class PlanStudy {
 public:
  // `annotations` are the pins that the plan was made with, used if the plan
  // does not record them. kInvalidArgument if the plan is not for this module.
  // Module and plan must outlive the study.
  static absl::StatusOr<std::unique_ptr<PlanStudy>> Of(const Module& module,
                                                       const Plan& plan,
                                                       Annotations annotations);

  const Plan& plan() const { return plan_; }
  const StepModel& model() const { return *model_; }
  const MeshProblem& problem() const { return *Priced({}).problem; }
  const GroupPins& pins() const { return pins_; }
  const std::vector<Forbidden>& forbidden() const {
    return plan_.steering.forbidden;
  }
  // The option that the plan has, by group; -1 if it is not among those of the
  // search.
  const std::vector<int32_t>& chosen() const { return chosen_; }
  // The plan itself.
  const Answer& as_planned() const { return as_planned_; }

  // Whether the requested strategy and the pins allow a group an option.
  bool Allows(GroupId group, int32_t option, const Whatif& whatif = {}) const;

  // kResourceExhausted if nothing fits.
  absl::StatusOr<Answer> Ask(const Whatif& whatif) const;

  // The group of the parameter, instruction or output of this name; kNoGroup if
  // there is none.
  GroupId GroupNamed(absl::string_view name) const;
  // The name of a group's first member.
  std::string NameOf(GroupId group) const;
  std::string OpcodeOf(GroupId group) const;  // "dot", "parameter", "output"
  // Of its first result; of an output, its own.
  std::string ShapeOf(GroupId group) const;
  // "[data, -] x [-, model] -> [data, model]"
  std::string TextOf(GroupId group, int32_t option) const;

  // How a tensor is resharded, at the plan's prices.
  const std::vector<ReshardStep>& PathOf(ElementType type, const Sharding& from,
                                         const Sharding& to) const {
    return Priced({}).resharder->Path(type, from, to);
  }

  // Sets a function that is called before every question.
  void set_report(std::function<void()> report) { report_ = std::move(report); }
  int64_t questions() const { return questions_; }

 private:
  struct PricedProblem {
    MeshTask task;
    std::unique_ptr<Resharder> resharder;
    std::unique_ptr<MeshProblem> problem;
  };

  PlanStudy(const Plan& plan, PlannedStep step, Annotations annotations);
  // `planned`: by op.
  void RestrictToNear(const std::vector<Strategy>& planned);
  void FindChosen(const std::vector<Strategy>& planned);
  absl::Status EvaluatePlan();
  const PricedProblem& Priced(const Whatif& whatif) const;
  absl::StatusOr<Answer> SolveOne(const Problem& problem,
                                  std::optional<int64_t> limit,
                                  std::vector<int32_t> start) const;

  const Plan& plan_;
  const PlannedStep step_;
  MeshPins pins_given_;  // On instructions of `step_`.
  std::unique_ptr<StepModel> model_;
  Requirement expert_;
  GroupPins pins_;
  // All options of all axes of a large mesh are too many: those that differ
  // from the plan in one.
  std::optional<OneAxisFree> near_;
  std::vector<int32_t> chosen_;
  Answer as_planned_;
  std::function<void()> report_;
  mutable int64_t questions_ = 0;
  // By speed of links and what is allowed besides: as planned, and what was
  // asked about last.
  mutable std::map<std::pair<double, int32_t>, PricedProblem> priced_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_STUDY_H_
