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
// kernels into graphs (command buffers), if that takes the host less than to
// launch each by itself; convolutions and other library calls, collectives and
// loops break graphs. The arrays of a step are elsewhere than those of the one
// before, so that each kernel of a graph is updated, in loops with the first
// iteration only.
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

// In which a device waits between two iterations of a loop, which are launched
// one by one.
double IterationSeconds(const Rates& rates);
// Whether the condition of a loop is evaluated: hosts that launch its
// iterations count known trips themselves.
bool RunsCondition(const Instruction& loop, const Rates& rates);
// The computations that control flow runs each time.
std::vector<const Computation*> CalledEachTime(const Instruction& control_flow,
                                               const Rates& rates);

// What the host does in each run of a region, and once in a step.
struct HostSeconds {
  double each = 0;
  double once = 0;

  double sum() const { return each + once; }
  // Of all runs.
  HostSeconds Times(double count) const { return {count * each, once}; }
  HostSeconds& operator+=(const HostSeconds& more) {
    each += more.each;
    once += more.once;
    return *this;
  }
};

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
  // A loop, a call or a branch, which itself takes the host `host` seconds.
  double RunRegion(double ready, double seconds, HostSeconds host);

  // A program is prepared, with so many arguments and results: the host's work
  // if it launches kernels; otherwise the device's. Returns the device's
  // seconds. Once for each program that is executed.
  double TakeArrays(size_t count);

  double seconds() const;         // Until everything is done.
  double device_seconds() const;  // The same with a host that takes no time.
  HostSeconds host_seconds() const { return host_; }
  // Time in which everything waits for the host.
  double idle_seconds() const;

 private:
  double Compute(double ready, double seconds);
  void AddNode();
  void EndGraph();

  const Rates& rates_;
  double compute_ = 0;  // When each stream is free.
  double link_ = 0;
  HostSeconds host_;
  HostSeconds graph_;         // The part for kernels since the last break,
  double nodes_ = 0;          // and their number.
  std::vector<double> ends_;  // By kernel, collective and region.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_DEVICE_CLOCK_H_
