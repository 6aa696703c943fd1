// Kinds of collectives that a program must not contain.
//
//   MW_ASSIGN_OR_RETURN(auto list, ParseForbidden("all-gather@data"));
//   Resharder resharder(&mesh, Without(prices, list, mesh));
//   ...
//   MW_RETURN_IF_ERROR(CheckNone(split, list));
#ifndef MESHWRIGHT_PARTITION_FORBIDDEN_H_
#define MESHWRIGHT_PARTITION_FORBIDDEN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/partition.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

struct Forbidden {
  MoveKind kind = MoveKind::kAllReduce;  // One of the collective kinds.
  std::string axis;  // The axis that it runs along; empty: any.

  bool operator==(const Forbidden&) const = default;
};

// Parses a comma-separated list of "KIND" or "KIND@AXIS". kInvalidArgument
// names what is not one.
absl::StatusOr<std::vector<Forbidden>> ParseForbidden(absl::string_view text);
std::string ToString(const Forbidden& forbidden);
std::string ToString(const std::vector<Forbidden>& list);  // Comma-separated.

// kInvalidArgument for an axis that `mesh` does not have.
absl::Status CheckAxes(const std::vector<Forbidden>& list, const Mesh& mesh);

// The same prices, but with kForbiddenSeconds for what is forbidden. Requires:
// CheckAxes.
Prices Without(Prices prices, const std::vector<Forbidden>& list,
               const Mesh& mesh);

// kInvalidArgument, naming the first, if a program contains a forbidden
// collective. Requires: CheckAxes for the program's mesh.
absl::Status CheckNone(const Partitioned& split,
                       const std::vector<Forbidden>& list);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_FORBIDDEN_H_
