#include "meshwright/cost/price_list.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Strides of sub-axes, by id, in devices; empty unless the mesh numbers its
// devices in order.
std::vector<int64_t> StridesOf(const Mesh& mesh) {
  if (!mesh.device_ids().empty()) return {};
  std::vector<int64_t> strides(mesh.sub_axes().size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= mesh.sub_axes()[i].size;
  }
  return strides;
}

// Whether each sub-axis either stays inside blocks of `size` devices or goes
// from block to block, so that whole sub-axes tell blocks apart.
bool Divides(int64_t size, const Mesh& mesh, absl::Span<const int64_t> strides,
             int64_t first_device) {
  if (first_device % size != 0) return false;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t extent = strides[i] * mesh.sub_axes()[i].size;
    const bool inside = extent <= size;
    const bool across = strides[i] % size == 0;
    if (!inside && !across) return false;
    // Groups in partly filled blocks would make others start in the middle of
    // a block.
    if (inside && size % extent != 0 && extent != mesh.device_count()) {
      return false;
    }
  }
  return true;
}

// The levels that groups along `axes` cross, sub-axis by sub-axis.
std::vector<LinkUse> UsesOf(const Cluster& cluster, const Mesh& mesh,
                            absl::Span<const int64_t> strides, uint32_t axes) {
  std::vector<LinkUse> uses;
  int64_t inner = 1;
  for (int32_t index = 0; index < std::ssize(cluster.levels); ++index) {
    const LinkLevel& level = cluster.levels[index];
    LinkUse use{.level = index};
    for (size_t i = 0; i < strides.size(); ++i) {
      const int64_t size = mesh.sub_axes()[i].size;
      const bool in_group = (axes >> i & 1) != 0;
      if (strides[i] < level.port_devices) {
        (in_group ? use.members : use.groups) *= size;
      }
      if (in_group && strides[i] >= inner && strides[i] < level.devices) {
        use.parts *= size;
      }
    }
    if (use.parts >= 2) uses.push_back(use);
    inner = level.devices;
  }
  return uses;
}

AxisList ListOf(uint32_t bits) {
  AxisList axes;
  for (AxisId axis = 0; bits >> axis != 0; ++axis) {
    if (bits >> axis & 1) axes.push_back(axis);
  }
  return axes;
}

// The share of the operand's bytes that a member of a group of `devices` sends
// over a level whose blocks below hold `below` members each.
double ShareSent(MoveKind kind, double devices, double below, double parts) {
  const double others = (parts - 1) / parts;
  switch (kind) {
    case MoveKind::kReduceScatter:
      return others / below;
    case MoveKind::kAllReduce:
      return 2 * others / below;
    case MoveKind::kAllGather:
      return others / below * devices;
    case MoveKind::kAllToAll:
      return others * std::min(1.0, below * parts / devices);
    default:
      return 1;  // A permute may send all of it anywhere.
  }
}

}  // namespace

CollectivePrice PriceOver(absl::Span<const LinkUse> links, MoveKind kind,
                          int64_t devices, const Rates& rates,
                          const Cluster& cluster) {
  const double n = static_cast<double>(devices);
  CollectivePrice price{.latency = 0, .per_wire_byte = 0};
  // What passes through one port of a level, per byte of the operand.
  struct Load {
    double bytes = 0;
    int64_t parts = 2;
  };
  absl::InlinedVector<Load, 4> loads(cluster.levels.size());
  double below = 1;
  for (const LinkUse& use : links) {
    const double parts = static_cast<double>(use.parts);
    const double share = ShareSent(kind, n, below, parts);
    const int64_t senders = use.members * use.groups;
    loads[use.level].bytes += share * static_cast<double>(senders);
    loads[use.level].parts = use.parts;
    // On its way there, it passes the inner ports of the network.
    for (int32_t inner = 0; inner < use.level; ++inner) {
      const LinkLevel& level = cluster.levels[inner];
      if (!cluster.IsNetwork(level)) continue;
      loads[inner].bytes +=
          share * static_cast<double>(std::min(senders, level.port_devices));
    }
    price.latency += rates.Of(kind, use.level, use.parts).latency;
    below *= parts;
  }
  for (int32_t level = 0; level < std::ssize(loads); ++level) {
    const Load& load = loads[level];
    if (load.bytes == 0) continue;
    const double per_byte = rates.Of(kind, level, load.parts).per_byte;
    price.per_wire_byte = std::max(price.per_wire_byte, load.bytes * per_byte);
  }
  price.per_wire_byte /= WireBytes(kind, devices, 1);
  return price;
}

std::vector<std::vector<LinkUse>> LinksBySubset(const Cluster& cluster,
                                                const Mesh& mesh,
                                                int64_t first_device) {
  const size_t count = size_t{1} << mesh.sub_axes().size();
  const std::vector<int64_t> strides = StridesOf(mesh);
  bool whole_axes = strides.size() == mesh.sub_axes().size();
  for (const LinkLevel& level : cluster.levels) {
    for (const int64_t size : {level.devices, level.port_devices}) {
      whole_axes = whole_axes && Divides(size, mesh, strides, first_device);
    }
  }
  MeshLinks finder(cluster, mesh, first_device);
  std::vector<std::vector<LinkUse>> links(count);
  for (uint32_t bits = 1; bits < count; ++bits) {
    links[bits] = whole_axes ? UsesOf(cluster, mesh, strides, bits)
                             : finder.Of(ListOf(bits));
  }
  return links;
}

Prices PricesFor(const Rates& rates, const Cluster& cluster, const Mesh& mesh,
                 int64_t first_device, ElementType type) {
  MW_CHECK(rates.levels.size() == cluster.levels.size());
  Prices prices;
  // Bytes that are written were read before.
  prices.per_local_byte = 2 / rates.memory.Last();
  prices.per_flop = 1 / rates.Matmul(type).Last();
  const auto links = LinksBySubset(cluster, mesh, first_device);
  std::vector<Prices::ByKind> table(links.size());
  for (uint32_t bits = 1; bits < links.size(); ++bits) {
    const int64_t devices = mesh.Size(ListOf(bits));
    for (const MoveKind kind : kCollectiveMoves) {
      table[bits][KindIndex(kind)] =
          PriceOver(links[bits], kind, devices, rates, cluster);
    }
  }
  // The entry for no axes, along which nobody communicates, must not be the
  // lowest price.
  if (table.size() > 1) table[0] = table.back();
  prices.collective = table.back()[KindIndex(MoveKind::kAllReduce)];
  prices.SetByAxes(std::move(table));
  return prices;
}

}  // namespace meshwright
