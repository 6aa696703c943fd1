#include "meshwright/wire/collective_checks.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/reduce.h"

namespace meshwright::internal {
namespace {

absl::Status CheckPeer(int peer, std::vector<bool>& seen) {
  if (peer < 0 || peer >= static_cast<int>(seen.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "exchange: there is no member ", peer, " among ", seen.size()));
  }
  if (seen[peer]) {
    return absl::InvalidArgumentError(
        absl::StrCat("exchange: member ", peer, " is there twice"));
  }
  seen[peer] = true;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReduction(ReduceOp op, ElementType type, size_t bytes) {
  MW_RETURN_IF_ERROR(CheckReduces(op, type));
  if (bytes % static_cast<size_t>(HostBytes(type)) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(bytes, " bytes are no whole number of ", Name(type)));
}

absl::Status CheckBlocks(size_t large, size_t small, int blocks) {
  if (large == small * static_cast<size_t>(blocks)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      large, " bytes are not ", blocks, " blocks of ", small, " bytes"));
}

absl::Status CheckExchange(absl::Span<const Group::Outgoing> sends,
                           absl::Span<const Group::Incoming> receives, int rank,
                           int size) {
  std::vector<bool> sent(size);
  std::vector<bool> received(size);
  size_t to_self = 0;
  size_t from_self = 0;
  for (const Group::Outgoing& send : sends) {
    MW_RETURN_IF_ERROR(CheckPeer(send.to, sent));
    if (send.to == rank) to_self = send.bytes.size();
  }
  for (const Group::Incoming& receive : receives) {
    MW_RETURN_IF_ERROR(CheckPeer(receive.from, received));
    if (receive.from == rank) from_self = receive.bytes.size();
  }
  if (to_self == from_self) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("exchange: member ", rank, " sends itself ", to_self,
                   " bytes and expects ", from_self));
}

}  // namespace meshwright::internal
