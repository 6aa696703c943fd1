// A tensor as what devices copy from.
#ifndef MESHWRIGHT_RUNTIME_HOST_ARRAY_H_
#define MESHWRIGHT_RUNTIME_HOST_ARRAY_H_

#include <memory>
#include <string>
#include <utility>

#include "meshwright/engine/client.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

inline HostArray AsHostArray(Tensor shard) {
  const auto owner = std::make_shared<const std::string>(std::move(shard.data));
  return {.bytes = {reinterpret_cast<const std::byte*>(owner->data()),
                    owner->size()},
          .shape = {shard.type, std::move(shard.dimensions)},
          .owner = owner};
}

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_HOST_ARRAY_H_
