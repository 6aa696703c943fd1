// When the kernels and collectives of a device run: two streams, kernels in
// order and collectives beside them, and a host that starts both.
//
//   DeviceClock clock(rates, DeviceClock::Host::kOnTime);
//   double done = clock.RunKernel(*dot, /*ready=*/0, 30e-6);
//   done = clock.RunCollective(done, 50e-6);
//   clock.seconds();  // Until both streams are free.
//
// Devices that are quicker than their host wait for it. XLA makes graphs
// (command buffers) of kernels that follow each other, which take the host no
// more than rates.graph_seconds; convolutions and others of libraries,
// collectives and loops lie between them.
#ifndef MESHWRIGHT_COST_DEVICE_CLOCK_H_
#define MESHWRIGHT_COST_DEVICE_CLOCK_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Until the host has started it, by a library's own code; 0 for the kernels of
// graphs.
double LibrarySeconds(const Instruction& root, const Rates& rates);

class DeviceClock {
 public:
  enum class Host : uint8_t {
    kOnTime,  // It starts as the streams do, and they wait for it.
    kAhead,   // It starts this while something before it runs.
  };
  // The rates outlive it.
  DeviceClock(const Rates& rates, Host host) : rates_(rates), host_is_(host) {}

  // Each: when it is done. `ready`: when its operands are.
  double RunKernel(const Instruction& root, double ready, double seconds);
  // More of the kernel that ran last.
  double Continue(double ready, double seconds);
  // As soon as its operands are there, but not long before its turn.
  double RunCollective(double ready, double seconds);
  // A loop, a call or a branch, which takes the host so long by itself.
  double RunRegion(double ready, double seconds, double host_seconds);

  double seconds() const;  // Until all of it is done.
  double host_seconds() const { return host_; }
  // In which kernels wait for the host.
  double idle_seconds() const;

 private:
  double Compute(double ready, double seconds);

  const Rates& rates_;
  const Host host_is_;
  double compute_ = 0;  // When each stream is free.
  double link_ = 0;
  double host_ = 0;
  double graph_ = 0;  // The part of `host_` that is of a graph, not ended yet.
  double idle_ = 0;
  std::vector<double> ends_;  // By kernel, collective and region.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_DEVICE_CLOCK_H_
