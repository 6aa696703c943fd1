#include "meshwright/cost/device_clock.h"

#include <algorithm>

#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// By how many kernels compilers move the start of a collective ahead.
constexpr size_t kMovedAhead = 32;

}  // namespace

double LibrarySeconds(const Instruction& root, const Rates& rates) {
  return IsLibraryCall(root.opcode) ? rates.library_seconds.value : 0;
}

double DeviceClock::RunKernel(const Instruction& root, double ready,
                              double seconds) {
  if (const double library = LibrarySeconds(root, rates_); library > 0) {
    graph_ = 0;
    host_ += library;
  } else {
    // The kernel is launched by itself or as one of a graph.
    const double more = std::min(rates_.launch_seconds.value,
                                 rates_.graph_seconds.value - graph_);
    graph_ += more;
    host_ += more;
  }
  ends_.push_back(Compute(ready, seconds));
  return compute_;
}

double DeviceClock::Continue(double ready, double seconds) {
  return Compute(ready, seconds);
}

double DeviceClock::RunCollective(double ready, double seconds) {
  graph_ = 0;
  host_ += rates_.launch_seconds.value;
  // The part that needs the device itself delays the kernels.
  compute_ += seconds * (1 - rates_.overlap.value);
  const double turn =
      ends_.size() > kMovedAhead ? *(ends_.end() - kMovedAhead) : 0;
  link_ = std::max({link_, ready, turn}) + seconds;
  ends_.push_back(compute_);
  return std::max(link_, compute_);
}

double DeviceClock::RunRegion(double ready, double seconds, double host_seconds,
                              double waits) {
  graph_ = 0;
  waits_ += waits;
  ends_.push_back(Compute(ready, seconds));
  host_ += host_seconds;
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
    host_ += seconds;
    return 0;
  }
  compute_ = std::max(compute_, link_) + seconds;
  return seconds;
}

double DeviceClock::seconds() const {
  return std::max({compute_, link_, host_});
}

double DeviceClock::device_seconds() const {
  return std::max(compute_, link_) - waits_;
}

double DeviceClock::idle_seconds() const {
  return std::max(0.0, host_ - std::max(compute_, link_));
}

}  // namespace meshwright
