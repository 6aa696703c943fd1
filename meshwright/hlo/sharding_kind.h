// What HLO text calls the kinds of shardings.
#ifndef MESHWRIGHT_HLO_SHARDING_KIND_H_
#define MESHWRIGHT_HLO_SHARDING_KIND_H_

#include "absl/strings/string_view.h"
#include "meshwright/hlo/op_sharding.h"

namespace meshwright {

// "replicated", "manual".
absl::string_view KindName(OpSharding::Kind kind);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SHARDING_KIND_H_
