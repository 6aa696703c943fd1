#include "meshwright/hlo/sharding_kind.h"

namespace meshwright {

absl::string_view KindName(OpSharding::Kind kind) {
  switch (kind) {
    case OpSharding::Kind::kReplicated:
      return "replicated";
    case OpSharding::Kind::kMaximal:
      return "maximal";
    case OpSharding::Kind::kTuple:
      return "tuple";
    case OpSharding::Kind::kTiled:
      return "tiled";
    case OpSharding::Kind::kManual:
      return "manual";
    case OpSharding::Kind::kUnknown:
      return "unknown";
    case OpSharding::Kind::kUnreduced:
      return "unreduced";
  }
  return "unknown";
}

}  // namespace meshwright
