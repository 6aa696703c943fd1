// Validation of the arguments of collectives.
#ifndef MESHWRIGHT_WIRE_COLLECTIVE_CHECKS_H_
#define MESHWRIGHT_WIRE_COLLECTIVE_CHECKS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/group.h"

namespace meshwright::internal {

// The reduction supports the type, and `bytes` are whole elements.
absl::Status CheckReduction(ReduceOp op, ElementType type, size_t bytes);
// `large` is `blocks` times as large as `small`.
absl::Status CheckBlocks(size_t large, size_t small, int blocks);
// Peers are members of a group of `size`, each at most once per direction, and
// what the member sends to itself is as large as what it receives from itself.
absl::Status CheckExchange(absl::Span<const Group::Outgoing> sends,
                           absl::Span<const Group::Incoming> receives, int rank,
                           int size);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_COLLECTIVE_CHECKS_H_
