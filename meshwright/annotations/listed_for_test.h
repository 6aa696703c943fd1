// Test support: a sharding that lists its devices.
#ifndef MESHWRIGHT_ANNOTATIONS_LISTED_FOR_TEST_H_
#define MESHWRIGHT_ANNOTATIONS_LISTED_FOR_TEST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/hlo/op_sharding.h"

namespace meshwright {

inline OpSharding Listed(std::vector<int64_t> tiles,
                         std::vector<int64_t> devices) {
  return {.kind = OpSharding::Kind::kTiled,
          .tile_dimensions = std::move(tiles),
          .devices = std::move(devices)};
}

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_LISTED_FOR_TEST_H_
