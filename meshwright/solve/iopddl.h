// Reads the problems of the ASPLOS 2025 contest on intra-operator parallelism.
//
//   {"problem": {"nodes": {"intervals": [[0, 2], ...], "costs": [[3, 5], ...],
//                          "usages": [[8, 4], ...]},
//                "edges": {"nodes": [[0, 1], ...], "costs": [[0, 9, 9, 0],
//                ...]}, "usage_limit": 10}}
//
// Members in any order; unknown members are skipped. Without "usage_limit", or
// with null, there is no limit. Equal cost tables become one.
#ifndef MESHWRIGHT_SOLVE_IOPDDL_H_
#define MESHWRIGHT_SOLVE_IOPDDL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

// The problem, verified; kInvalidArgument names what is wrong and where.
absl::StatusOr<Problem> ReadIopddl(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_IOPDDL_H_
