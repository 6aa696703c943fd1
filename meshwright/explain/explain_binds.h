// What a plan had to respect, and what that costs.
//
//   ExplainBinds(study)[0];   // {"forbid", "all-gather", 0.0021}: seconds more
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_BINDS_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_BINDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/explain/explain_study.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

struct BindReport {
  // "pin batch/tokens", "strategy", "memory", "forbid", "batch-axis", "mesh"
  std::string what;
  std::string asked;  // "[data, -]"
  double saves = 0;   // Seconds of a step, without it.
};

// Those that cost something on the plan's mesh, dearest first; at most `pins`
// are tried one by one.
std::vector<BindReport> ExplainBinds(const PlanStudy& study, int pins = 12);

// The mesh itself: whether another one is better, by planning again with as
// many micro-batches. None where the plan was made among several, or its pins
// are about the mesh. Errors when the plan's setting cannot be read.
absl::StatusOr<std::optional<BindReport>> ExplainMesh(const Module& module,
                                                      const PlanStudy& study);

// Dearest first.
void SortBinds(std::vector<BindReport>& reports);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_BINDS_H_
