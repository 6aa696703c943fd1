#include "meshwright/cost/program_cost.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/kernel_copies.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/price_list.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/rules/collectives.h"

namespace meshwright {
namespace {

class Walker {
 public:
  Walker(const ProgramKernels& kernels, const FusionStyle& style,
         const Rates& rates, const Mesh& mesh, const Prices& prices)
      : kernels_(kernels),
        style_(style),
        rates_(rates),
        mesh_(mesh),
        prices_(prices) {
    for (AxisId axis = 0; axis < std::ssize(mesh.sub_axes()); ++axis) {
      axes_.push_back(AxisList{axis});
    }
  }

  // The program, with `arrays` arguments and results.
  ProgramEstimate Run(const Computation& entry, size_t arrays) {
    DeviceClock clock(rates_);
    ProgramEstimate sum = Simulate(entry, clock);
    sum.compute_seconds += clock.TakeArrays(arrays) + clock.idle_seconds();
    sum.host_seconds = clock.host_seconds().sum();
    sum.step_seconds = clock.seconds();
    sum.exposed_seconds = std::max(0.0, sum.step_seconds - sum.compute_seconds);
    return sum;
  }

 private:
  // What runs inside of another computation. Its seconds are those of the
  // device.
  struct Region {
    ProgramEstimate estimate;
    HostSeconds host;
  };

  // A recursive call may have moved the element.
  const Region& Visit(const Computation& computation) {
    const auto [known, is_new] = known_.try_emplace(&computation);
    if (!is_new) return known->second;
    DeviceClock clock(rates_);
    ProgramEstimate estimate = Simulate(computation, clock);
    estimate.step_seconds = clock.device_seconds();
    return known_[&computation] = {estimate, clock.host_seconds()};
  }

  ProgramEstimate Simulate(const Computation& computation, DeviceClock& clock) {
    ProgramEstimate sum;
    const auto found = kernels_.find(&computation);
    if (found == kernels_.end()) return sum;
    // When each result is ready, by id.
    std::vector<double> ready(computation.size(), 0);
    for (const Kernel& kernel : found->second) {
      const Instruction& root = *kernel.root;
      double start = 0;
      for (const Instruction* input : kernel.inputs) {
        start = std::max(start, ReadyOf(*input, ready));
      }
      if (const auto kind = PricedAs(root.opcode)) {
        ready[root.id] =
            clock.RunCollective(start, Communicate(root, *kind, sum));
      } else if (IsControlFlow(root.opcode)) {
        const Region inside = Inside(root);
        Add(inside.estimate, sum);
        ready[root.id] =
            clock.RunRegion(start, inside.estimate.step_seconds, inside.host);
      } else {
        ready[root.id] = clock.RunKernel(root, start, Compute(kernel, sum));
      }
      for (const Instruction* result : kernel.more_results) {
        ready[result->id] = ready[root.id];
      }
    }
    return sum;
  }

  // When the value is ready, looking through tuples and reshapes.
  static double ReadyOf(const Instruction& value,
                        const std::vector<double>& ready) {
    const Instruction* at = &value;
    double when = ready[at->id];
    while (IsFree(*at) && !at->operands.empty()) {
      if (at->opcode == Opcode::kTuple) {
        for (const Instruction* operand : at->operands) {
          when = std::max(when, ready[operand->id]);
        }
        return when;
      }
      at = at->operands[0];
      when = std::max(when, ready[at->id]);
    }
    return when;
  }

  double Compute(const Kernel& kernel, ProgramEstimate& sum) {
    const double seconds = KernelSeconds(kernel, rates_);
    sum.compute_seconds += seconds;
    if (UnitOf(*kernel.root) != Unit::kVector) {
      sum.contraction_seconds += seconds;
    }
    sum.kernels += 1;
    return seconds;
  }

  // All executions of the computations that a loop or call runs; the longest
  // branch of a conditional.
  Region Inside(const Instruction& root) {
    Region inside;
    for (const Computation* called : CalledEachTime(root, rates_)) {
      const Region& part = Visit(*called);
      if (root.opcode != Opcode::kConditional) {
        Add(part.estimate, inside.estimate);
        inside.host += part.host;
      } else if (part.estimate.step_seconds >= inside.estimate.step_seconds) {
        inside = part;
      }
    }
    if (root.opcode != Opcode::kWhile) return inside;
    const double begin = IterationSeconds(rates_);
    inside.estimate.compute_seconds += begin;
    inside.estimate.step_seconds += begin;
    const double count = static_cast<double>(TripCount(root).value_or(1));
    Region all{.host = inside.host.Times(count)};
    Add(inside.estimate, all.estimate, count);
    return all;
  }

  static void Add(const ProgramEstimate& part, ProgramEstimate& sum,
                  double count = 1) {
    sum.compute_seconds += count * part.compute_seconds;
    sum.contraction_seconds += count * part.contraction_seconds;
    sum.comm_seconds += count * part.comm_seconds;
    sum.step_seconds += count * part.step_seconds;
    sum.comm_bytes += count * part.comm_bytes;
    sum.kernels += count * part.kernels;
    sum.collectives += count * part.collectives;
  }

  double Communicate(const Instruction& instruction, MoveKind kind,
                     ProgramEstimate& sum) {
    double bytes = 0;
    for (const Instruction* operand : instruction.operands) {
      bytes += static_cast<double>(ByteSize(operand->shape));
    }
    const uint32_t axes = AxesOf(instruction);
    int64_t devices = 1;
    for (size_t i = 0; i < axes_.size(); ++i) {
      if (axes >> i & 1) devices *= mesh_.Size(axes_[i]);
    }
    const double wire = WireBytes(kind, devices, bytes);
    const double after = static_cast<double>(ByteSize(instruction.shape));
    const double further =
        static_cast<double>(std::ssize(instruction.operands) - 1);
    const double seconds =
        MovePrice(prices_, kind, axes, devices, bytes, after) +
        TransposeSeconds(instruction) +
        further * rates_.further_array.value * prices_.Of(kind, axes).latency;
    sum.comm_seconds += seconds;
    sum.comm_bytes += wire;
    sum.collectives += 1;
    return seconds;
  }

  // Time to transpose, before a collective, so that the dimension that it
  // splits or joins comes first, and back.
  double TransposeSeconds(const Instruction& collective) const {
    if (!style_.transposes_for_collectives) return 0;
    double seconds = 0;
    for (const Instruction* operand : collective.operands) {
      if (!SplitsInside(collective, operand->shape)) continue;
      for (const double bytes :
           {static_cast<double>(ByteSize(operand->shape)),
            static_cast<double>(ByteSize(collective.shape)) /
                static_cast<double>(collective.operands.size())}) {
        seconds += KernelSeconds(
            LocalWork{.work = {.bytes = 2 * bytes}, .strided = true}, rates_);
      }
    }
    return seconds;
  }

  // The sub-axes along which the participants of the collective differ.
  uint32_t AxesOf(const Instruction& instruction) {
    const Attributes& attributes = *instruction.attributes;
    if (places_.empty()) FindPlaces();
    uint64_t apart = 0;
    if (!attributes.source_target_pairs.empty()) {
      for (const SourceTarget& pair : attributes.source_target_pairs) {
        apart |= places_[pair.source] ^ places_[pair.target];
      }
    } else if (attributes.replica_groups.empty()) {
      return (uint32_t{1} << axes_.size()) - 1;
    } else {
      const std::vector<int64_t>& group = attributes.replica_groups[0];
      for (const int64_t device : group) {
        apart |= places_[group[0]] ^ places_[device];
      }
    }
    uint32_t bits = 0;
    for (const AxisList& axis : axes_) {
      const int width = WidthOf(axis);
      if (apart & ((uint64_t{1} << width) - 1)) {
        bits |= uint32_t{1} << axis[0];
      }
      apart >>= width;
    }
    return bits;
  }

  // Bits of a coordinate along the axis.
  int WidthOf(const AxisList& axis) const {
    return static_cast<int>(
        std::bit_width(static_cast<uint64_t>(mesh_.Size(axis) - 1)));
  }

  void FindPlaces() {
    for (int64_t device = 0; device < mesh_.device_count(); ++device) {
      uint64_t place = 0;
      int at = 0;
      for (const AxisList& axis : axes_) {
        place |= static_cast<uint64_t>(mesh_.Coordinate(device, axis)) << at;
        at += WidthOf(axis);
      }
      places_.push_back(place);
    }
  }

  const ProgramKernels& kernels_;
  const FusionStyle style_;
  const Rates& rates_;
  const Mesh& mesh_;
  const Prices& prices_;
  std::vector<AxisList> axes_;
  // By device: its coordinates along all of `axes_`, in a few bits each.
  std::vector<uint64_t> places_;
  absl::flat_hash_map<const Computation*, Region> known_;
};

}  // namespace

ProgramEstimate EstimateProgram(const Module& program, const Rates& rates,
                                const Cluster& cluster, const Mesh& mesh,
                                const Prices& prices) {
  const ModuleWork work(program);
  const FusionStyle style = FusionStyleFor(cluster.IsCpu());
  const ProgramKernels kernels = KernelsOf(program, work, style);
  Walker walker(kernels, style, rates, mesh, prices);
  const size_t arrays = program.entry()->Parameters().size() +
                        Leaves(program.entry()->root()->shape).size();
  ProgramEstimate estimate = walker.Run(*program.entry(), arrays);
  estimate.memory = EstimateMemory(program, kernels, style);
  return estimate;
}

ProgramEstimate EstimateProgram(const Module& program, const Rates& rates,
                                const Cluster& cluster, const Mesh& mesh,
                                int64_t first_device) {
  return EstimateProgram(program, rates, cluster, mesh,
                         PricesFor(rates, cluster, mesh, first_device));
}

}  // namespace meshwright
