// Assumed rates of virtual devices, which share the cores and memory of one
// machine.
//
// They have no links. A collective copies and adds in the machine's memory, so
// that the cost of a byte is that of the memory traffic for it; and devices
// arrive one after the other, as they get their turn on the cores:
//
//   an all-gather of b bytes each among n writes n * b and reads as much, of
//   which (n - 1) * b count as sent: 2n / (n - 1) bytes of memory for each
#ifndef MESHWRIGHT_COST_VIRTUAL_DEVICES_H_
#define MESHWRIGHT_COST_VIRTUAL_DEVICES_H_

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// Bytes read and written per byte that counts as sent (WireBytes), in a
// collective of `devices`.
double TouchedForSent(MoveKind kind, double devices);

// Sets all rates that differ for virtual devices. `turns`: devices per core.
// Requires: cluster.shared_host.
void AssumeVirtualDevices(const Cluster& cluster, double turns, Rates& rates);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_VIRTUAL_DEVICES_H_
