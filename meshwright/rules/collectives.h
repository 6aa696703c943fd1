// The collectives of a program, whoever wrote it: how often, between how many
// devices, and how many bytes.
#ifndef MESHWRIGHT_RULES_COLLECTIVES_H_
#define MESHWRIGHT_RULES_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

struct CollectiveUse {
  const Instruction* instruction = nullptr;
  std::string kind;       // "all-reduce"
  int64_t devices = 1;    // In a group.
  int64_t bytes = 0;      // Of the operands, on one device, each time.
  double wire_bytes = 0;  // Sent by a device, each time (the busiest one).
  double count = 1;       // Times per run of the entry.
};

// In the order of the program; `devices` of a collective without groups is
// `device_count`. Loops of unknown length count once.
std::vector<CollectiveUse> CollectivesIn(const Module& module,
                                         int64_t device_count);

// Bytes each of `devices` devices sends in a ring: all-reduce 2(n-1)/n of what
// it holds, all-gather n-1 times, reduce-scatter and all-to-all (n-1)/n, a
// permutation all of it.
double WireBytesOf(Opcode opcode, int64_t devices, double bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_COLLECTIVES_H_
