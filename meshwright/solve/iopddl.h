// Reads and writes the problems of the ASPLOS 2025 contest on intra-operator
// parallelism.
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

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

// The verified problem; kInvalidArgument says what is wrong and where.
absl::StatusOr<Problem> ReadIopddl(absl::string_view text);

// The same problem in that format, which allows one interval per node and one
// limit for all times. Further usage pieces of a node become additional nodes
// tied to it; a limit below the largest becomes a node that always uses the
// difference. Both come after the problem's own nodes, so that an assignment
// begins with theirs.
std::string WriteIopddl(const Problem& problem);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_IOPDDL_H_
