// What is assumed of virtual devices, which share the cores and the memory of
// one machine.
//
// They have no links. A collective copies and adds in the machine's memory, so
// that a byte costs what is read and written for it; and devices meet as they
// get their turns on the cores, one after the other:
//
//   an all-gather of b bytes each among n writes n * b and reads as much, of
//   which (n - 1) * b count as sent: 2n / (n - 1) bytes of memory for each
#ifndef MESHWRIGHT_COST_VIRTUAL_DEVICES_H_
#define MESHWRIGHT_COST_VIRTUAL_DEVICES_H_

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// Bytes that are read and written for one that counts as sent (WireBytes), of a
// collective of `devices`.
double TouchedForSent(MoveKind kind, double devices);

// Sets all that virtual devices have rates of their own for. `turns`: devices
// for each core. Requires: cluster.shared_host.
void AssumeVirtualDevices(const Cluster& cluster, double turns, Rates& rates);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_VIRTUAL_DEVICES_H_
