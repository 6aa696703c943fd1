// A setting with strategies for it, their cost and a bound on that cost.
//
//   candidate.seconds()          // Estimated, as a program.
//   candidate.plan().seconds     // The sum that the search minimises.
//   candidate.WithBound(0.9)     // Another one; candidates do not change.
//
// Invariant: the variant is that of the setting (as many micro-batches, the
// same rematerialisation), and the bound is not above the cost.
#ifndef MESHWRIGHT_PLANNER_PLAN_CANDIDATE_H_
#define MESHWRIGHT_PLANNER_PLAN_CANDIDATE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "meshwright/annotations/annotations.h"
#include "meshwright/base/check.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/planner/setting.h"
#include "meshwright/planner/step_variant.h"
#include "meshwright/search/plan_mesh.h"

namespace meshwright {

class PlanCandidate {
 public:
  // `memory_limit`: bytes per device, as the search counted. `pins`: on the
  // step of the variant.
  PlanCandidate(std::shared_ptr<const StepVariant> variant, Setting setting,
                int64_t memory_limit, Annotations pins, MeshPlan plan)
      : variant_(std::move(variant)),
        setting_(std::move(setting)),
        memory_limit_(memory_limit),
        pins_(std::move(pins)),
        plan_(std::move(plan)) {
    MW_CHECK(variant_ != nullptr);
    MW_CHECK(variant_->count == setting_.micro_batches);
    MW_CHECK(variant_->recompute == setting_.recompute);
    LimitBound();
  }

  const StepVariant& variant() const { return *variant_; }
  const std::shared_ptr<const StepVariant>& shared_variant() const {
    return variant_;
  }
  const Setting& setting() const { return setting_; }
  int64_t memory_limit() const { return memory_limit_; }
  const Annotations& pins() const { return pins_; }
  const MeshPlan& plan() const { return plan_; }
  // For pipelines only: the step whose loops were split into pieces, which the
  // variant is a variant of. Null: the loops are whole.
  const std::shared_ptr<const SplitStep>& split() const { return split_; }

  // Estimated seconds of a step as a program. (plan().seconds is the sum that
  // the search minimises, and the one that has a bound.)
  double seconds() const { return plan_.time.seconds; }
  // The optimality gap: by what part of its cost it can be above the best on
  // its mesh.
  double gap() const {
    return plan_.seconds > 0 ? 1 - plan_.bound_seconds / plan_.seconds : 0;
  }

  // The same with a bound that holds for it, as far as it is below its cost.
  PlanCandidate WithBound(double bound_seconds) const {
    PlanCandidate other = *this;
    other.plan_.bound_seconds = bound_seconds;
    other.LimitBound();
    return other;
  }
  PlanCandidate With(MeshPlan plan) const {
    PlanCandidate other = *this;
    other.plan_ = std::move(plan);
    other.LimitBound();
    return other;
  }
  PlanCandidate With(Expert expert) const {
    PlanCandidate other = *this;
    other.setting_ = setting_.With(expert);
    return other;
  }
  PlanCandidate With(std::shared_ptr<const SplitStep> split) const {
    PlanCandidate other = *this;
    other.split_ = std::move(split);
    return other;
  }
  PlanCandidate WithMemoryLimit(int64_t bytes) const {
    PlanCandidate other = *this;
    other.memory_limit_ = bytes;
    return other;
  }

 private:
  void LimitBound() {
    plan_.bound_seconds = std::min(plan_.bound_seconds, plan_.seconds);
  }

  std::shared_ptr<const SplitStep> split_;
  std::shared_ptr<const StepVariant> variant_;
  Setting setting_;
  int64_t memory_limit_ = 0;
  Annotations pins_;
  MeshPlan plan_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_CANDIDATE_H_
