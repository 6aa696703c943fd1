// The collectives of a program, whether partitioned by us or not: how often
// they run, between how many devices, and on how many bytes.
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
  int64_t devices = 1;    // In a replica group.
  int64_t bytes = 0;      // Per execution, of the operands on one device.
  double wire_bytes = 0;  // Per execution, sent by the busiest device.
  double count = 1;       // Executions per run of the entry.
};

// In program order; a collective without replica groups spans `device_count`
// devices. Loops of unknown trip count count once.
std::vector<CollectiveUse> CollectivesIn(const Module& module,
                                         int64_t device_count);

// Bytes that each of `devices` devices sends with ring algorithms: for an
// all-reduce 2(n-1)/n of what it holds, for an all-gather n-1 times that, for a
// reduce-scatter and an all-to-all (n-1)/n, for a permute all of it.
double WireBytesOf(Opcode opcode, int64_t devices, double bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_COLLECTIVES_H_
