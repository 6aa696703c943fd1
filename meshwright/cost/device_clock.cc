#include "meshwright/cost/device_clock.h"

#include <algorithm>

#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/trip_count.h"

namespace meshwright {
namespace {

// By how many kernels compilers move the start of a collective ahead.
constexpr size_t kMovedAhead = 32;

// Work of the host, in launches of a kernel, from traces of steps on an H200
// (docs/design/0007): to launch a graph takes it longer for each kernel, and to
// set the addresses in that kernel; a program, until its first launch.
constexpr double kNode = 0.125;
constexpr double kUpdate = 0.275;
constexpr double kExecution = 27;
// The device starts a graph that much later than a kernel of it.
constexpr double kIteration = 0.3;

}  // namespace

double LibrarySeconds(const Instruction& root, const Rates& rates) {
  return IsLibraryCall(root.opcode) ? rates.library_seconds.value : 0;
}

double IterationSeconds(const Rates& rates) {
  return kIteration * rates.launch_seconds.value;
}

bool RunsCondition(const Instruction& loop, const Rates& rates) {
  return rates.launch_seconds.value == 0 || !TripCount(loop).has_value();
}

std::vector<const Computation*> CalledEachTime(const Instruction& control_flow,
                                               const Rates& rates) {
  std::vector<const Computation*> called(control_flow.called.begin(),
                                         control_flow.called.end());
  // A loop's body comes first.
  if (control_flow.opcode == Opcode::kWhile &&
      !RunsCondition(control_flow, rates)) {
    called.resize(1);
  }
  return called;
}

double DeviceClock::RunKernel(const Instruction& root, double ready,
                              double seconds) {
  if (const double library = LibrarySeconds(root, rates_); library > 0) {
    EndGraph();
    host_.each += library;
  } else {
    AddNode();
  }
  ends_.push_back(Compute(ready, seconds));
  return compute_;
}

// Kernels since the last break are launched by themselves or as a graph.
void DeviceClock::AddNode() {
  nodes_ += 1;
  const double launches = nodes_ * rates_.launch_seconds.value;
  const HostSeconds alone = {.each = launches};
  const HostSeconds graph = {
      .each = rates_.graph_seconds.value + kNode * launches,
      .once = kUpdate * launches};
  const HostSeconds now = alone.sum() < graph.sum() ? alone : graph;
  host_ += {now.each - graph_.each, now.once - graph_.once};
  graph_ = now;
}

void DeviceClock::EndGraph() {
  nodes_ = 0;
  graph_ = {};
}

double DeviceClock::Continue(double ready, double seconds) {
  return Compute(ready, seconds);
}

double DeviceClock::RunCollective(double ready, double seconds) {
  EndGraph();
  host_.each += rates_.launch_seconds.value;
  // The part that needs the device itself delays the kernels.
  compute_ += seconds * (1 - rates_.overlap.value);
  const double turn =
      ends_.size() > kMovedAhead ? *(ends_.end() - kMovedAhead) : 0;
  link_ = std::max({link_, ready, turn}) + seconds;
  ends_.push_back(compute_);
  return std::max(link_, compute_);
}

double DeviceClock::RunRegion(double ready, double seconds, HostSeconds host) {
  EndGraph();
  ends_.push_back(Compute(ready, seconds));
  host_ += host;
  return compute_;
}

double DeviceClock::Compute(double ready, double seconds) {
  compute_ = std::max(compute_, ready) + seconds;
  return compute_;
}

double DeviceClock::TakeArrays(size_t count) {
  const double seconds =
      rates_.argument_seconds.value * static_cast<double>(count);
  if (rates_.launch_seconds.value > 0) {
    host_.once += kExecution * rates_.launch_seconds.value + seconds;
    return 0;
  }
  compute_ = std::max(compute_, link_) + seconds;
  return seconds;
}

double DeviceClock::seconds() const {
  return std::max(device_seconds(), host_.sum());
}

double DeviceClock::device_seconds() const { return std::max(compute_, link_); }

double DeviceClock::idle_seconds() const {
  return std::max(0.0, host_.sum() - device_seconds());
}

}  // namespace meshwright
