// Time, communication and memory of one run of a per-device program.
//
//   MW_ASSIGN_OR_RETURN(Partitioned split, Partition(module, mesh, pins));
//   ProgramEstimate step = EstimateProgram(split.module, rates, cluster, mesh);
//   step.step_seconds;   // 0.0312
//   step.peak_bytes();   // 7.1e9
//
// Kernels (kernels.h) and collectives are simulated by device_clock.h. Loops
// count by their trip count, conditionals by their longest branch.
#ifndef MESHWRIGHT_COST_PROGRAM_COST_H_
#define MESHWRIGHT_COST_PROGRAM_COST_H_

#include <cstdint>

#include "meshwright/cost/program_memory.h"
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

struct ProgramEstimate {
  double compute_seconds = 0;
  double contraction_seconds = 0;  // The part in dots and convolutions.
  double comm_seconds = 0;         // All communication, hidden or not.
  double exposed_seconds = 0;      // The part that computation waits for.
  double step_seconds = 0;         // compute_seconds + exposed_seconds.
  double comm_bytes = 0;           // Sent by a device.
  double host_seconds = 0;         // Of the host, to launch everything.
  double kernels = 0;              // Launched.
  double collectives = 0;
  ProgramBytes memory;

  int64_t peak_bytes() const { return memory.peak(); }
};

// Device i of the mesh is device `first_device` + i of the cluster. Linear in
// the program. Requires: the program is for mesh.device_count() replicas and
// passed Verify; the rates are of the cluster.
ProgramEstimate EstimateProgram(const Module& program, const Rates& rates,
                                const Cluster& cluster, const Mesh& mesh,
                                int64_t first_device = 0);

// The same with known prices (PricesFor).
ProgramEstimate EstimateProgram(const Module& program, const Rates& rates,
                                const Cluster& cluster, const Mesh& mesh,
                                const Prices& prices);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_PROGRAM_COST_H_
