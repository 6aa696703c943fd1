#include "meshwright/cost/instruction_time.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/program_memory.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/rules/recorded_flops.h"

namespace meshwright {
namespace {

class Clock {
 public:
  Clock(const ProgramKernels& kernels, const Rates& rates, double devices)
      : kernels_(kernels), rates_(rates), devices_(devices) {}

  double SecondsOf(const Kernel& kernel) {
    const Instruction& root = *kernel.root;
    if (const Computation* body = KernelBody(root)) {
      // What a body consists of may be kernels that nobody knows.
      const double seconds = SecondsOf(*body);
      return RecordedFlops(root).has_value()
                 ? std::max(seconds, KernelSeconds(kernel, rates_, devices_))
                 : seconds;
    }
    if (!IsControlFlow(root.opcode)) {
      // If the kernel is shorter than that, the next one waits for the host.
      return std::max(KernelSeconds(kernel, rates_, devices_),
                      LibrarySeconds(root, rates_));
    }
    double sum = 0;
    double longest = 0;
    for (const Computation* called : CalledEachTime(root, rates_)) {
      sum += SecondsOf(*called);
      longest = std::max(longest, SecondsOf(*called));
    }
    if (root.opcode == Opcode::kConditional) return longest;
    return root.opcode == Opcode::kCall
               ? sum
               : (sum + IterationSeconds(rates_)) *
                     static_cast<double>(TripCount(root).value_or(1));
  }

  double SecondsOf(const Computation& computation) {
    const auto [entry, is_new] = known_.try_emplace(&computation, 0);
    if (!is_new) return entry->second;
    double sum = 0;
    if (const auto kernels = kernels_.find(&computation);
        kernels != kernels_.end()) {
      for (const Kernel& kernel : kernels->second) sum += SecondsOf(kernel);
    }
    return known_[&computation] = sum;
  }

 private:
  const ProgramKernels& kernels_;
  const Rates& rates_;
  const double devices_;
  absl::flat_hash_map<const Computation*, double> known_;
};

}  // namespace

std::vector<double> InstructionSeconds(const Module& module, const Rates& rates,
                                       bool is_cpu, int64_t devices) {
  const ModuleWork work(module);
  const ProgramKernels kernels =
      KernelsOf(module, work, FusionStyleFor(is_cpu));
  Clock clock(kernels, rates, static_cast<double>(devices));
  std::vector<double> seconds(module.entry()->size(), 0);
  const auto found = kernels.find(module.entry());
  if (found == kernels.end()) return seconds;
  for (const Kernel& kernel : found->second) {
    seconds[kernel.root->id] = clock.SecondsOf(kernel);
  }
  return seconds;
}

double ComputationSeconds(const Computation& computation,
                          const ProgramKernels& kernels, const Rates& rates) {
  return Clock(kernels, rates, 1).SecondsOf(computation);
}

HostSeconds HostClock::SecondsOf(const Computation& computation) {
  if (const auto known = known_.find(&computation); known != known_.end()) {
    return known->second;
  }
  DeviceClock clock(rates_);
  if (const auto kernels = kernels_.find(&computation);
      kernels != kernels_.end()) {
    for (const Kernel& kernel : kernels->second) {
      const std::optional<HostSeconds> region = SecondsOfRegion(*kernel.root);
      if (region.has_value()) {
        clock.RunRegion(0, 0, *region);
      } else {
        clock.RunKernel(*kernel.root, 0, 0);
      }
    }
  }
  return known_[&computation] = clock.host_seconds();
}

std::optional<HostSeconds> HostClock::SecondsOfRegion(const Instruction& root) {
  if (const Computation* body = KernelBody(root)) return SecondsOf(*body);
  if (!IsControlFlow(root.opcode)) return std::nullopt;
  HostSeconds sum;
  for (const Computation* called : CalledEachTime(root, rates_)) {
    sum += SecondsOf(*called);
  }
  const int64_t times =
      root.opcode == Opcode::kWhile ? TripCount(root).value_or(1) : 1;
  return sum.Times(static_cast<double>(times));
}

}  // namespace meshwright
