#include "meshwright/reshard/prices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "meshwright/base/check.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {

absl::string_view Name(MoveKind kind) {
  switch (kind) {
    case MoveKind::kSlice:
      return "slice";
    case MoveKind::kMakePending:
      return "make-pending";
    case MoveKind::kResize:
      return "resize";
    case MoveKind::kRegroup:
      return "regroup";
    default:
      return Name(OpcodeOf(kind));
  }
}

Opcode OpcodeOf(MoveKind kind) {
  switch (kind) {
    case MoveKind::kReduceScatter:
      return Opcode::kReduceScatter;
    case MoveKind::kAllReduce:
      return Opcode::kAllReduce;
    case MoveKind::kAllToAll:
      return Opcode::kAllToAll;
    case MoveKind::kPermute:
      return Opcode::kCollectivePermute;
    case MoveKind::kAllGather:
      return Opcode::kAllGather;
    default:
      return Opcode::kUnknown;
  }
}

bool IsCollective(MoveKind kind) { return OpcodeOf(kind) != Opcode::kUnknown; }

std::optional<MoveKind> PricedAs(Opcode opcode) {
  const Opcode collective = CollectiveOf(opcode);
  switch (collective) {
    case Opcode::kCollectiveBroadcast:
      return MoveKind::kPermute;
    case Opcode::kCollectiveReduce:
      return MoveKind::kAllReduce;
    case Opcode::kRaggedAllToAll:
      return MoveKind::kAllToAll;
    default:
      break;
  }
  for (const MoveKind kind : kCollectiveMoves) {
    if (OpcodeOf(kind) == collective) return kind;
  }
  return std::nullopt;
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

int KindIndex(MoveKind kind) {
  switch (kind) {
    case MoveKind::kReduceScatter:
      return 0;
    case MoveKind::kAllReduce:
      return 1;
    case MoveKind::kAllToAll:
      return 2;
    case MoveKind::kPermute:
      return 3;
    case MoveKind::kAllGather:
      return 4;
    default:
      MW_CHECK(false) << Name(kind) << " is no collective";
  }
}

const CollectivePrice& Prices::Of(MoveKind kind, uint32_t axes) const {
  if (by_axes.empty()) return collective;
  return by_axes[axes][KindIndex(kind)];
}

void Prices::SetByAxes(std::vector<ByKind> table) {
  by_axes = std::move(table);
  alike_axes.clear();
  std::map<ByKind, uint32_t> first;
  for (uint32_t bits = 0; bits < by_axes.size(); ++bits) {
    alike_axes.push_back(first.try_emplace(by_axes[bits], bits).first->second);
  }
  least_by_axes = {std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
  for (const ByKind& kinds : by_axes) {
    for (const CollectivePrice& price : kinds) {
      least_by_axes.latency = std::min(least_by_axes.latency, price.latency);
      least_by_axes.per_wire_byte =
          std::min(least_by_axes.per_wire_byte, price.per_wire_byte);
    }
  }
}

double MovePrice(const Prices& prices, MoveKind kind, uint32_t axes,
                 int64_t devices, double before, double after) {
  if (kind == MoveKind::kRegroup) return 0;
  // A mask is computed along with what uses it.
  if (kind == MoveKind::kMakePending && before == after) return 0;
  // An all-reduce may work in place; all others write their result anew.
  const double local = kind == MoveKind::kAllReduce ? 0 : after;
  double price = local * prices.per_local_byte;
  if (IsCollective(kind)) {
    const CollectivePrice& collective = prices.Of(kind, axes);
    price += collective.latency +
             WireBytes(kind, devices, before) * collective.per_wire_byte;
  }
  return price;
}

}  // namespace meshwright
