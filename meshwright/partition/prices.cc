#include "meshwright/partition/prices.h"

#include "meshwright/base/check.h"

namespace meshwright {

absl::string_view Name(MoveKind kind) {
  switch (kind) {
    case MoveKind::kSlice:
      return "slice";
    case MoveKind::kReduceScatter:
      return "reduce-scatter";
    case MoveKind::kAllReduce:
      return "all-reduce";
    case MoveKind::kAllToAll:
      return "all-to-all";
    case MoveKind::kPermute:
      return "collective-permute";
    case MoveKind::kAllGather:
      return "all-gather";
    case MoveKind::kMakePending:
      return "make-pending";
    case MoveKind::kResize:
      return "resize";
    case MoveKind::kRegroup:
      return "regroup";
  }
  MW_CHECK(false) << "unknown move";
}

bool IsCollective(MoveKind kind) {
  switch (kind) {
    case MoveKind::kReduceScatter:
    case MoveKind::kAllReduce:
    case MoveKind::kAllToAll:
    case MoveKind::kPermute:
    case MoveKind::kAllGather:
      return true;
    default:
      return false;
  }
}

double WireBytes(MoveKind kind, int64_t devices, double before) {
  const double n = static_cast<double>(devices);
  switch (kind) {
    case MoveKind::kReduceScatter:
    case MoveKind::kAllToAll:
      return (n - 1) / n * before;
    case MoveKind::kAllReduce:
      return 2 * (n - 1) / n * before;
    case MoveKind::kPermute:
      return before;
    case MoveKind::kAllGather:
      return (n - 1) * before;
    default:
      return 0;
  }
}

double MovePrice(const Prices& prices, MoveKind kind, int64_t devices,
                 double before, double after) {
  if (kind == MoveKind::kRegroup) return 0;
  // A mask is computed along with what uses it.
  if (kind == MoveKind::kMakePending && before == after) return 0;
  // An all-reduce may work in place; all others write their result anew.
  const double local = kind == MoveKind::kAllReduce ? 0 : after;
  return (IsCollective(kind) ? prices.latency : 0) +
         WireBytes(kind, devices, before) * prices.per_wire_byte +
         local * prices.per_local_byte;
}

}  // namespace meshwright
