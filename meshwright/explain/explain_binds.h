// The constraints that a plan had to respect, and what each costs.
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
  double saves = 0;   // Seconds per step that would be saved without it.
};

// The constraints with a cost on the plan's mesh, most expensive first; at most
// `pins` pins are tried one by one.
std::vector<BindReport> ExplainBinds(const PlanStudy& study, int pins = 12);

// The mesh as a constraint: whether another one is better, by planning again
// with the same number of micro-batches. nullopt if the plan was chosen among
// several meshes, or its pins refer to the mesh. Errors if the plan's setting
// cannot be read.
absl::StatusOr<std::optional<BindReport>> ExplainMesh(const Module& module,
                                                      const PlanStudy& study);

// Most expensive first.
void SortBinds(std::vector<BindReport>& reports);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_BINDS_H_
