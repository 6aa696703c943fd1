// Simulates when the kernels and collectives of a device run: on two streams,
// kernels in order and collectives concurrently, both launched by a host.
//
//   DeviceClock clock(rates);
//   double done = clock.RunKernel(*dot, /*ready=*/0, 30e-6);
//   done = clock.RunCollective(done, 50e-6);
//   clock.seconds();  // Until both streams are free.
//   clock.TakeArrays(12);
//
// Steps are in flight: the host prepares one while the device runs another, so
// that it counts only where a whole step takes it longer. XLA puts consecutive
// kernels into graphs (command buffers), whose launch takes the host no more
// than rates.graph_seconds each; convolutions and other library calls,
// collectives and loops break graphs.
#ifndef MESHWRIGHT_COST_DEVICE_CLOCK_H_
#define MESHWRIGHT_COST_DEVICE_CLOCK_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Host time to launch a library kernel by the library's own code; 0 for kernels
// of graphs.
double LibrarySeconds(const Instruction& root, const Rates& rates);

class DeviceClock {
 public:
  // The rates must outlive it.
  explicit DeviceClock(const Rates& rates) : rates_(rates) {}

  // Each returns the time at which it is done. `ready`: when its operands are.
  double RunKernel(const Instruction& root, double ready, double seconds);
  // Continues the kernel that ran last.
  double Continue(double ready, double seconds);
  // Starts as soon as its operands are ready, but not long before its turn.
  double RunCollective(double ready, double seconds);
  // A loop, a call or a branch, which itself takes the host `host_seconds`.
  // `waits`: the part of `seconds` in which the device waits for the host.
  double RunRegion(double ready, double seconds, double host_seconds,
                   double waits = 0);

  // The arguments and results of a step: the host's work if it launches
  // kernels; otherwise the device's. Returns the device's seconds.
  double TakeArrays(size_t count);

  double seconds() const;         // Until everything is done.
  double device_seconds() const;  // The same with a host that takes no time.
  double host_seconds() const { return host_; }
  // Time in which everything waits for the host.
  double idle_seconds() const;

 private:
  double Compute(double ready, double seconds);

  const Rates& rates_;
  double compute_ = 0;  // When each stream is free.
  double link_ = 0;
  double host_ = 0;
  // The part of `host_` spent on a graph that has not ended yet.
  double graph_ = 0;
  double waits_ = 0;          // Of regions.
  std::vector<double> ends_;  // By kernel, collective and region.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_DEVICE_CLOCK_H_
